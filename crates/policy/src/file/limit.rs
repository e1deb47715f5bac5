//! A limit in a file.

use super::Span;
use slidegate_core::Limit;

/// A limit: `5/min`, or the long form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitEntry {
    /// Where it stands.
    pub at: Span,
    /// The limit, under its name if it has one. `None`: it is wrong, and that was reported.
    pub limit: Option<Limit>,
    /// The name that the file gives it.
    pub name: Option<String>,
}
