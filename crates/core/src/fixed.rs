//! One aligned window: a count that starts anew at every edge.

use crate::limit::Limit;
use crate::settle::{Receipt, Settled, settled_count};
use crate::state::Standing;
use crate::time::{Reading, read};

/// The history of one key under one fixed window: what came in the window of the last write.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fixed {
    /// When it was last written; `current` belongs to the window that holds this time.
    pub last_ms: u64,
    /// Units of the window.
    pub current: u64,
}

impl Fixed {
    /// The window at `now_ms`: the time of deciding, where it starts, and what came in it.
    #[inline]
    fn view(&self, limit: &Limit, now_ms: u64) -> (u64, u64, u64) {
        let at_ms = now_ms.max(self.last_ms);
        let start_ms = at_ms - at_ms % limit.window_ms();
        let current = if self.last_ms >= start_ms { self.current } else { 0 };
        (at_ms, start_ms, current)
    }

    #[inline]
    pub(crate) fn look(&mut self, limit: &Limit, now_ms: u64) -> Standing {
        if let Reading::Repair(ms) = read(now_ms, self.last_ms, limit.window_ms()) {
            self.last_ms = ms;
        }
        let (_, start_ms, current) = self.view(limit, now_ms);
        if current == 0 {
            // As if never seen: then the time of the last write means nothing either.
            *self = Self::default();
            return Standing { remaining: limit.quota(), reset_after_ms: 0 };
        }
        Standing {
            remaining: limit.quota().saturating_sub(current),
            reset_after_ms: start_ms + limit.window_ms() - now_ms,
        }
    }

    pub(crate) fn wait_ms(&self, limit: &Limit, now_ms: u64) -> u64 {
        let (_, start_ms, _) = self.view(limit, now_ms);
        start_ms + limit.window_ms() - now_ms
    }

    #[inline]
    pub(crate) fn record(&mut self, limit: &Limit, cost: u64, now_ms: u64) -> (u64, u64) {
        let (at_ms, start_ms, current) = self.view(limit, now_ms);
        *self = Self { last_ms: at_ms, current: current + cost };
        (at_ms, start_ms + limit.window_ms() - now_ms)
    }

    pub(crate) fn settle(&mut self, limit: &Limit, receipt: &Receipt, cost: u64, now_ms: u64) -> Settled {
        self.look(limit, now_ms);
        let (at_ms, start_ms, current) = self.view(limit, now_ms);
        if receipt.stamp_ms - receipt.stamp_ms % limit.window_ms() != start_ms {
            return Settled::Gone;
        }
        *self = Self { last_ms: at_ms, current: settled_count(current, receipt.cost, cost) };
        Settled::Done
    }
}
