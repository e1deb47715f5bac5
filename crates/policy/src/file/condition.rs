//! What a request has to be like.

use super::{Span, Spanned};

/// Attributes and what they have to be: all have to hold, and none at all hold for every request.
///
/// A value is compared as a whole, a list means one of these, and `{ prefix: x }` the start of it. `path` takes templates
/// (`/users/{id}`, `/files/{*rest}`), `ip` addresses and CIDRs; for `method` upper and lower case are the same.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Conditions(pub Vec<Condition>);

/// One attribute and what it has to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// Where the attribute is named.
    pub at: Span,
    /// Its name.
    pub attribute: String,
    /// What its value has to be.
    pub test: Test,
}

/// What a value has to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Test {
    /// One of these. Numbers and booleans count as their text.
    Is(Vec<Spanned<String>>),
    /// Something that starts with one of these.
    Prefix(Vec<Spanned<String>>),
}
