//! Fixed window: a count that restarts at every edge of an aligned window.

use crate::history::{Attempt, History};
use crate::limit::Limit;
use crate::settle::{Receipt, SettleEffect, settled_count};
use crate::time::{ClockReading, read};

/// State of one key under a fixed window: the count of the window of the last write.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fixed {
    /// Time of the last write; `current` belongs to the window of this time.
    pub last_ms: u64,
    /// Units of the window.
    pub current: u64,
}

/// View of the window at some time: the time of the decision, its start and its count.
#[derive(Clone, Copy, Debug)]
pub struct FixedView {
    at_ms: u64,
    start_ms: u64,
    current: u64,
}

impl Fixed {
    pub(crate) fn settle(
        &mut self,
        limit: &Limit,
        receipt: &Receipt,
        cost: u64,
        now_ms: u64,
    ) -> SettleEffect {
        let (_, view) = self.peek(limit, now_ms);
        // All units were given back, or forgotten.
        if view.current == 0 || limit.window_start_ms(receipt.stamp_ms) != view.start_ms {
            return SettleEffect::Gone;
        }
        *self = Self { last_ms: view.at_ms, current: settled_count(view.current, receipt.cost, cost) };
        SettleEffect::Done
    }
}

impl History for Fixed {
    type View = FixedView;

    #[inline]
    fn peek(&mut self, limit: &Limit, now_ms: u64) -> (u64, FixedView) {
        if let ClockReading::Repair(ms) = read(now_ms, self.last_ms, limit.window_ms()) {
            self.last_ms = ms;
        }
        let mut view = self.view(limit, now_ms);
        if view.current == 0 {
            // Same as a new key: the time of the last write has no meaning.
            *self = Self::default();
            view = self.view(limit, now_ms);
        }
        (limit.quota().saturating_sub(view.current), view)
    }

    #[inline]
    fn view(&self, limit: &Limit, now_ms: u64) -> FixedView {
        let at_ms = now_ms.max(self.last_ms);
        let start_ms = limit.window_start_ms(at_ms);
        let current = if self.last_ms >= start_ms { self.current } else { 0 };
        FixedView { at_ms, start_ms, current }
    }

    #[inline]
    fn reset_after_ms(&self, limit: &Limit, now_ms: u64, view: FixedView) -> u64 {
        match view.current {
            0 => 0,
            _ => view.start_ms + limit.window_ms() - now_ms,
        }
    }

    #[inline]
    fn wait_ms(&self, limit: &Limit, attempt: Attempt, view: FixedView) -> u64 {
        view.start_ms + limit.window_ms() - attempt.now_ms
    }

    #[inline]
    fn record(&mut self, limit: &Limit, attempt: Attempt, view: FixedView) -> (u64, u64) {
        *self = Self { last_ms: view.at_ms, current: view.current + attempt.cost };
        (view.at_ms, view.start_ms + limit.window_ms() - attempt.now_ms)
    }

    fn give_back(&mut self, _: &Limit, attempt: Attempt, view: FixedView) {
        *self = match view.current.saturating_sub(attempt.cost) {
            0 => Self::default(),
            current => Self { last_ms: view.at_ms, current },
        };
    }
}
