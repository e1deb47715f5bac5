//! Errors of a replay before its first decision.

use slidegate::LimitError;
use slidegate::policy::PolicyErrors;

use super::attributes::MissingAttribute;
use super::threshold::ThresholdError;
use crate::access_log::AccessLogFormat;

/// Error of a replay before its first decision.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A policy is invalid.
    #[error(transparent)]
    Policy(#[from] PolicyErrors),
    /// The key of a rule needs an attribute that the log does not have.
    #[error(transparent)]
    MissingAttribute(#[from] MissingAttribute),
    /// The windows of a limit are too long to be counted.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// A window is shorter than what the stamps of the log can tell.
    #[error("the limit {limit} of rule `{rule}` has a window under one second, but {file} has whole seconds")]
    WindowUnderStamps {
        /// Rule.
        rule: String,
        /// Limit.
        limit: String,
        /// File with whole seconds.
        file: String,
        /// Its format.
        format: AccessLogFormat,
    },
    /// A condition of `--fail-if` cannot be evaluated.
    #[error(transparent)]
    Threshold(#[from] ThresholdError),
    /// The file for `--verdicts` cannot be written.
    #[error("cannot write verdicts: {0}")]
    Verdicts(#[source] std::io::Error),
}
