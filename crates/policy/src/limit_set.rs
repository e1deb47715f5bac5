//! Set of limits that apply together: those of a rule, an override or a tier.

use slidegate_core::{Limit, LimitKind};

/// Set of limits that apply together: those of a rule, an override or a tier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitSet {
    limits: Box<[Limit]>,
    names: Box<[Box<str>]>,
    texts: Box<[Box<str>]>,
}

impl LimitSet {
    /// Set of limits with their names.
    pub fn new(named: impl IntoIterator<Item = (Limit, Box<str>)>) -> Self {
        let (limits, names): (Vec<_>, Vec<_>) = named.into_iter().unzip();
        let texts = limits.iter().map(|limit: &Limit| limit.to_string().into()).collect();
        Self { limits: limits.into(), names: names.into(), texts }
    }

    /// Limits. No two of them share their state.
    #[inline]
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// Name of each limit in headers and responses, such as `search-10/s`: printable, without
    /// quotes and spaces.
    #[inline]
    pub fn names(&self) -> &[Box<str>] {
        &self.names
    }

    /// Each limit in its short form, such as `10/s`.
    #[inline]
    pub fn texts(&self) -> &[Box<str>] {
        &self.texts
    }

    /// Whether these limits allow nothing that the others deny: for each of the others there is one
    /// with the same state that is not larger.
    pub(super) fn are_as_tight_as(&self, others: &Self) -> bool {
        others.limits.iter().all(|other| self.limits.iter().any(|limit| is_as_tight(limit, other)))
    }
}

fn is_as_tight(limit: &Limit, other: &Limit) -> bool {
    let is_smaller_burst = match (limit.kind(), other.kind()) {
        (LimitKind::Gcra { burst }, LimitKind::Gcra { burst: other }) => burst <= other,
        _ => true,
    };
    limit.id() == other.id() && limit.quota() <= other.quota() && is_smaller_burst
}

/// Name of a limit in responses: the name of its rule, then its own name or its short form.
pub(super) fn name(rule: &str, limit: &Limit, suffix: Option<&str>) -> Box<str> {
    match suffix {
        Some(suffix) => format!("{rule}-{suffix}").into(),
        None => format!("{rule}-{limit}").replace(' ', "-").into(),
    }
}
