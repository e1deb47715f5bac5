//! Limit in a file.

use super::Span;
use slidegate_core::Limit;

/// Limit: `5/min`, or the long form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitEntry {
    /// Position.
    pub at: Span,
    /// The limit, with its name if it has one. `None`: it is invalid, and that was reported.
    pub limit: Option<Limit>,
    /// Name in the file.
    pub name: Option<String>,
}
