//! Worst case of a limit: the most units that it admits in any window.

use crate::limit::{Limit, LimitKind};

impl Limit {
    /// The most units that any window can see: the quota, but for the kinds that align their
    /// windows or let a burst come on top of the rate.
    pub const fn worst_case(&self) -> u64 {
        let (quota, window) = (self.quota(), self.window_ms());
        match self.kind() {
            LimitKind::Log { .. } | LimitKind::InFlight => quota,
            _ if window == 1 => self.ceiling(),
            // A burst ends a window, a trickle follows until the burst is about to leave the view.
            LimitKind::Counter if self.tick_ms() == 1 => 2 * quota - (2 * quota).div_ceil(window),
            LimitKind::Counter => 2 * quota - quota.div_ceil(self.ticks(window)),
            LimitKind::Fixed => 2 * quota,
            LimitKind::Gcra { burst } => gcra_worst_case(quota, window, burst),
        }
    }
}

/// A burst, and then in every further millisecond of the window what has drained. A meter cannot
/// drain below nothing: where a millisecond drains more than the burst less one, some of it is
/// lost.
const fn gcra_worst_case(quota: u64, window: u64, burst: u64) -> u64 {
    let certain = (burst - 1) * window;
    if quota >= burst * window {
        burst * window
    } else if quota > certain {
        let unit_every = window.div_ceil(quota - certain);
        burst + (burst - 1) * (window - 1) + (window - 1) / unit_every
    } else {
        burst + quota - quota.div_ceil(window)
    }
}
