//! Why an override was not set or removed.

use slidegate::Store;
use slidegate::policy::PolicyErrors;
use slidegate::store::{MAX_NOTE_BYTES, MAX_NOTES};

use crate::runtime::backend::Backend;

/// Why an override was not set or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    /// It does not fit the rules in force.
    #[error("{}", render(.0))]
    TemporaryOverride(PolicyErrors),
    /// It would last too short or too long.
    #[error("an override lasts a second to 90 days; what is to last longer belongs in the policy file")]
    Expiry,
    /// The reason is too long.
    #[error("the reason has at most {} bytes", super::MAX_REASON_BYTES)]
    Reason,
    /// There are too many.
    #[error("there are {MAX_NOTES} overrides already: remove one first, or change the policy file")]
    Full,
    /// It says too much.
    #[error("an override has at most {MAX_NOTE_BYTES} bytes")]
    TooLarge,
    /// The store did not answer.
    #[error(
        "the store did not answer, so it may have been done or not; look at the overrides and try again: {0}"
    )]
    Store(#[from] <Backend as Store>::Error),
}

/// In one line, without the text that is wrong.
pub(super) fn render(errors: &PolicyErrors) -> String {
    let each: Vec<String> = errors.iter().map(|error| format!("{}; {}", error.message, error.help)).collect();
    each.join("; ")
}
