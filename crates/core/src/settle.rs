//! Settlement: replaces the cost of an admission where it was recorded.

use crate::limit::{Limit, LimitKind, MAX_QUOTA};

/// Receipt of an admission under one limit: where and how much it wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// Stamp of the entry, from the decision.
    pub stamp_ms: u64,
    /// Recorded cost.
    pub cost: u64,
    /// Id of the holder, for in-flight limits.
    pub holder: u64,
}

/// Effect of a settlement under one limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettleEffect {
    /// The recorded cost was replaced.
    Done,
    /// The entry has left the window, or was given back: there is nothing to correct.
    Gone,
    /// This kind of limit keeps no entries that could be corrected.
    Unsupported,
}

impl Receipt {
    /// Time at which the recorded cost leaves the window for good.
    pub fn release_ms(&self, limit: &Limit) -> u64 {
        let window_ms = limit.window_ms();
        let start_ms = limit.window_start_ms(self.stamp_ms);
        match limit.kind() {
            LimitKind::Counter => start_ms.saturating_add(2 * window_ms),
            LimitKind::Fixed => start_ms.saturating_add(window_ms),
            LimitKind::Log { .. } | LimitKind::Gcra { .. } | LimitKind::InFlight => {
                self.stamp_ms.saturating_add(window_ms)
            }
        }
    }
}

/// Maximum debt: up to it sums are exact in a double.
pub(crate) const MAX_DEBT: u64 = 2 * MAX_QUOTA;

/// A count with the recorded cost replaced.
pub(crate) fn settled_count(count: u64, recorded: u64, cost: u64) -> u64 {
    count.saturating_sub(recorded).saturating_add(cost).min(MAX_DEBT)
}

pub(crate) fn settleable_cost(cost: u64) -> u64 {
    cost.min(MAX_QUOTA)
}
