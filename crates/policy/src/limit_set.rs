//! A set of limits that a rule can apply: its own, an override's or a tier's.

use slidegate_core::{Limit, LimitKind};

/// A set of limits that a rule can apply: its own, an override's or a tier's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitSet {
    limits: Box<[Limit]>,
    names: Box<[Box<str>]>,
    texts: Box<[Box<str>]>,
}

impl LimitSet {
    /// From limits and their names.
    pub fn new(named: impl IntoIterator<Item = (Limit, Box<str>)>) -> Self {
        let (limits, names): (Vec<_>, Vec<_>) = named.into_iter().unzip();
        let texts = limits.iter().map(|limit: &Limit| limit.to_string().into()).collect();
        Self { limits: limits.into(), names: names.into(), texts }
    }

    /// Its limits, no two with one history.
    #[inline]
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// The name of each limit in headers and answers, such as `search-10/s`: printable, without quotes and spaces.
    #[inline]
    pub fn names(&self) -> &[Box<str>] {
        &self.names
    }

    /// Each limit as people write it, such as `10/s`.
    #[inline]
    pub fn texts(&self) -> &[Box<str>] {
        &self.texts
    }

    /// Whether these allow nothing that the others refuse: for each of theirs there is one with the same history that is no larger.
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

/// What a limit is called in answers: after its rule, and by its own name or by what it is.
pub(super) fn name(rule: &str, limit: &Limit, given: Option<&str>) -> Box<str> {
    match given {
        Some(given) => format!("{rule}-{given}").into(),
        None => format!("{rule}-{limit}").replace(' ', "-").into(),
    }
}
