//! Errors of adding or removing an override.

use slidegate::policy::PolicyErrors;
use slidegate::store::{MAX_NOTE_BYTES, MAX_NOTES};

use crate::runtime::backend::StoreError;

/// Error of adding or removing an override.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    /// It does not fit the rules in force.
    #[error("{}", render(.0))]
    TemporaryOverride(PolicyErrors),
    /// It would last too short or too long.
    #[error("an override lasts from 1 second to 90 days; use the policy file for longer ones")]
    Expiry,
    /// The reason is too long.
    #[error("reason: at most {} bytes", super::MAX_REASON_BYTES)]
    Reason,
    /// There are too many.
    #[error("the maximum of {MAX_NOTES} overrides is reached: remove one, or change the policy file")]
    Full,
    /// It says too much.
    #[error("an override has at most {MAX_NOTE_BYTES} bytes")]
    TooLarge,
    /// The store did not answer.
    #[error(
        "the store did not respond: the change may or may not be done; check the overrides and retry: {0}"
    )]
    Store(#[from] StoreError),
}

/// In one line, without the text that is wrong.
pub(super) fn render(errors: &PolicyErrors) -> String {
    let each: Vec<String> = errors.iter().map(|error| format!("{}; {}", error.message, error.help)).collect();
    each.join("; ")
}
