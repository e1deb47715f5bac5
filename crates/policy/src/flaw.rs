//! Something that is wrong in a policy, before it is known where it stands.

/// What is wrong, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Flaw {
    pub(super) what: String,
    pub(super) remedy: String,
}

impl Flaw {
    pub(super) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into() }
    }
}
