//! Conditions on the attributes of a request.

use super::{Span, Spanned};

/// Conditions on attributes. All of them must match. An empty mapping matches every request.
///
/// A value must be equal, a list matches any of its values, and `{ prefix: x }` matches values that start with `x`.
/// `path` takes templates (`/users/{id}`, `/files/{*rest}`), `ip` takes addresses and CIDR blocks, and `method` ignores
/// case.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Conditions(pub Vec<Condition>);

/// Condition on one attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// Position of the attribute.
    pub at: Span,
    /// Name of the attribute.
    pub attribute: String,
    /// Test of its value.
    pub test: Test,
}

/// Test of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Test {
    /// Equal to one of these. Numbers and booleans are compared as text.
    Is(Vec<Spanned<String>>),
    /// Starts with one of these.
    Prefix(Vec<Spanned<String>>),
}
