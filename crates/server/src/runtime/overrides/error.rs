//! Errors of adding or removing an override.

use slidegate::policy::PolicyErrors;
use slidegate::store::{MAX_NOTE_BYTES, MAX_NOTES};

use crate::runtime::backend::StoreError;

/// Error of adding or removing an override.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    /// The override does not fit the rules in force.
    #[error("{}", render(.0))]
    TemporaryOverride(PolicyErrors),
    /// The lifetime is too short or too long.
    #[error("an override lasts from 1 second to 90 days; use the policy file for longer ones")]
    Expiry,
    /// The reason is too long.
    #[error("the reason exceeds {} bytes", super::MAX_REASON_BYTES)]
    Reason,
    /// There are too many.
    #[error("the maximum of {MAX_NOTES} overrides is reached: remove one, or change the policy file")]
    Full,
    /// The override is too large.
    #[error("the override exceeds {MAX_NOTE_BYTES} bytes")]
    TooLarge,
    /// The store did not respond.
    #[error(
        "the store did not respond: the change may or may not be done; check the overrides and retry: {0}"
    )]
    Store(#[from] StoreError),
}

/// Errors in one line, without source text.
pub(super) fn render(errors: &PolicyErrors) -> String {
    let each: Vec<String> = errors.iter().map(|error| format!("{}; {}", error.message, error.help)).collect();
    each.join("; ")
}
