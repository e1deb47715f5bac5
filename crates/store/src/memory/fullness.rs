//! Fullness of a subject, which decides about its eviction.

use slidegate_core::{History, Limit, MAX_TIME_MS, State};

use super::interner::LimitSpec;

/// Fullness of a subject.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fullness {
    /// Thousandths of the quota in use, under the limit that is closest to it.
    pub(super) permille: u64,
    /// Units in use.
    pub(super) units: u64,
    /// Time until it is idle.
    pub(super) reset_after_ms: u64,
}

impl Fullness {
    pub(super) const EMPTY: Self = Self { permille: 0, units: 0, reset_after_ms: 0 };

    /// Fullness of a history under its limit.
    pub(super) fn of(limit: &Limit, history: &mut impl History, now_ms: u64) -> Self {
        let now_ms = now_ms.min(MAX_TIME_MS);
        let standing = history.standing(limit, now_ms);
        let units = limit.ceiling() - standing.remaining;
        let reset_after_ms = standing.reset_after_ms.max(history.lingers_ms(now_ms));
        Self { permille: units * 1_000 / limit.ceiling(), units, reset_after_ms }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            permille: self.permille.max(other.permille),
            units: self.units + other.units,
            reset_after_ms: self.reset_after_ms.max(other.reset_after_ms),
        }
    }
}

impl LimitSpec {
    /// Fullness of a subject with these states, one per limit.
    pub(super) fn fullness(&self, states: impl IntoIterator<Item = State>, now_ms: u64) -> Fullness {
        let each = self.limits().iter().zip(states);
        each.map(|(limit, mut state)| Fullness::of(limit, &mut state, now_ms))
            .fold(Fullness::EMPTY, Fullness::and)
    }
}
