//! Sliding window counter: the count of the current aligned window, plus that of the previous one
//! weighted by its overlap.

use core::hint::cold_path;

use crate::history::{Attempt, History, leave, take};
use crate::limit::Limit;
use crate::settle::{MAX_DEBT, Receipt, SettleEffect, settled_count};
use crate::time::{ClockReading, mul_div, read};
use crate::verdict::Decision;

/// State of one key under a counter: the counts of the window of the last write, and of the one
/// before.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counter {
    last_ms: u64,
    previous: u64,
    current: u64,
}

/// View of the two windows at some time.
#[derive(Clone, Copy, Debug)]
pub struct CounterView {
    at_ms: u64,
    /// Since the window started.
    elapsed_ms: u64,
    previous: u64,
    current: u64,
}

impl Counter {
    /// History from its parts: the time of the last write, and the units of the windows before and
    /// at it.
    #[inline(always)]
    pub fn new(last_ms: u64, previous: u64, current: u64) -> Self {
        Self { last_ms, previous: previous.min(MAX_DEBT), current: current.min(MAX_DEBT) }
    }

    /// Time of the last write.
    #[inline(always)]
    pub fn last_ms(&self) -> u64 {
        self.last_ms
    }

    /// Units of the window before the one of the last write.
    #[inline(always)]
    pub fn previous(&self) -> u64 {
        self.previous
    }

    /// Units of the window of the last write.
    #[inline(always)]
    pub fn current(&self) -> u64 {
        self.current
    }

    /// View at a time that is not before the last write.
    #[inline(always)]
    fn view_at(&self, limit: &Limit, at_ms: u64) -> CounterView {
        let elapsed_ms = limit.elapsed_ms(at_ms);
        let since_ms = at_ms - self.last_ms;
        let (previous, current) = if since_ms <= elapsed_ms {
            (self.previous, self.current)
        } else if since_ms <= elapsed_ms + limit.window_ms() {
            cold_path();
            (self.current, 0)
        } else {
            cold_path();
            (0, 0)
        };
        CounterView { at_ms, elapsed_ms, previous, current }
    }

    /// Fast peek that changes nothing, at a time of at most [`MAX_TIME_MS`](crate::MAX_TIME_MS): in
    /// the window of the last write, with a clock that did not step back. Otherwise `None`.
    ///
    /// `elapsed_ms` is [`Limit::elapsed_ms`], which can be computed before the key is looked up.
    #[inline(always)]
    pub fn fast_view(&self, limit: &Limit, now_ms: u64, elapsed_ms: u64) -> Option<FastView> {
        // Where the clock stepped back, this is more than any window.
        if now_ms.wrapping_sub(self.last_ms) > elapsed_ms {
            cold_path();
            return None;
        }
        let Self { previous, current, .. } = *self;
        let view = CounterView { at_ms: now_ms, elapsed_ms, previous, current };
        Some(FastView { weighted: view.weighted_fast(limit)?, view })
    }

    /// State for a clock that stepped back. By value, as everything cold here: a reference
    /// would force the common path to keep the state in memory.
    #[cold]
    #[inline(never)]
    fn stepped_back(self, limit: &Limit, now_ms: u64) -> Self {
        match read(now_ms, self.last_ms, limit.window_ms()) {
            // Same as a new key: the time of the last write has no meaning.
            _ if self.previous | self.current == 0 => Self::default(),
            // Everything that lies ahead is taken to have come now.
            ClockReading::Repair(ms) => Self::new(ms, 0, self.previous + self.current),
            ClockReading::At(_) => self,
        }
    }

    #[inline(always)]
    fn write(&mut self, view: &CounterView) {
        *self = Self { last_ms: view.at_ms, previous: view.previous, current: view.current };
    }

    pub(crate) fn settle(
        &mut self,
        limit: &Limit,
        receipt: &Receipt,
        cost: u64,
        now_ms: u64,
    ) -> SettleEffect {
        let (_, mut view) = self.peek(limit, now_ms);
        let window_ms = limit.window_ms();
        let start_ms = view.at_ms - view.elapsed_ms;
        let stamped_ms = limit.window_start_ms(receipt.stamp_ms);
        let count = if stamped_ms == start_ms {
            &mut view.current
        } else if start_ms.checked_sub(stamped_ms) == Some(window_ms) {
            &mut view.previous
        } else {
            return SettleEffect::Gone;
        };
        if *count == 0 {
            // All of it was given back, or forgotten.
            return SettleEffect::Gone;
        }
        *count = settled_count(*count, receipt.cost, cost);
        self.write(&view);
        SettleEffect::Done
    }
}

/// Result of [`Counter::fast_view`]. An admission writes the time, and adds the cost to the current
/// count; a denial writes nothing. The owner of the counter can do that before the answer is
/// computed.
#[derive(Clone, Copy, Debug)]
pub struct FastView {
    /// Weighted count of the previous window, from which the remaining quota is computed on demand.
    weighted: u64,
    view: CounterView,
}

impl FastView {
    /// Largest cost that fits.
    #[inline(always)]
    pub fn remaining(&self, limit: &Limit) -> u64 {
        self.view.remaining(limit, self.weighted)
    }

    /// Units of the current window.
    #[inline(always)]
    pub fn current(&self) -> u64 {
        self.view.current
    }

    /// Decision on a cost that fits and is not 0, after it is written.
    #[inline(always)]
    pub fn admit(self, limit: &Limit, attempt: Attempt) -> Decision {
        // The answer of a counter follows from the view alone.
        take(&mut Counter::default(), limit, attempt, (self.remaining(limit), self.view))
    }

    /// Decision without a charge.
    #[inline(always)]
    pub fn leave(self, limit: &Limit, attempt: Attempt) -> Decision {
        leave(&Counter::default(), limit, attempt, (self.remaining(limit), self.view))
    }
}

impl CounterView {
    /// Weight of the previous window, rounded up to whole units: its count less what has left,
    /// rounded down.
    #[inline(always)]
    fn weighted(&self, limit: &Limit) -> u64 {
        self.weighted_fast(limit).unwrap_or_else(|| {
            cold_path();
            let elapsed_ms = limit.whole_ticks(self.elapsed_ms);
            self.previous - mul_div(self.previous, elapsed_ms, limit.window_ms())
        })
    }

    /// [`CounterView::weighted`] where that takes no division: for most views.
    #[inline(always)]
    fn weighted_fast(&self, limit: &Limit) -> Option<u64> {
        if self.previous == 0 {
            return Some(0);
        }
        let share = limit.share(self.previous, limit.whole_ticks(self.elapsed_ms))?;
        Some(self.previous - share)
    }

    /// Largest cost that fits.
    #[inline(always)]
    fn remaining(&self, limit: &Limit, weighted: u64) -> u64 {
        limit.quota().saturating_sub(self.current + weighted)
    }
}

impl History for Counter {
    type View = CounterView;

    #[inline(always)]
    fn peek(&mut self, limit: &Limit, now_ms: u64) -> (u64, CounterView) {
        let mut at_ms = now_ms;
        if now_ms < self.last_ms {
            *self = self.stepped_back(limit, now_ms);
            at_ms = now_ms.max(self.last_ms);
        }
        let view = self.view_at(limit, at_ms);
        (view.remaining(limit, view.weighted(limit)), view)
    }

    #[inline(always)]
    fn view(&self, limit: &Limit, now_ms: u64) -> CounterView {
        self.view_at(limit, now_ms.max(self.last_ms))
    }

    #[inline(always)]
    fn reset_after_ms(&self, limit: &Limit, now_ms: u64, view: CounterView) -> u64 {
        let windows = match (view.previous, view.current) {
            (0, 0) => return 0,
            (_, 0) => 1,
            _ => 2,
        };
        view.at_ms - now_ms + windows * limit.window_ms() - view.elapsed_ms
    }

    #[inline(always)]
    fn wait_ms(&self, limit: &Limit, attempt: Attempt, view: CounterView) -> u64 {
        self.refuse(limit, attempt, view).0
    }

    #[inline(always)]
    fn ceiling(limit: &Limit) -> u64 {
        limit.quota()
    }

    /// The cost fits as soon as enough of the weighted count has left: in this window if the
    /// current count leaves `left` units at all, otherwise in the next, where it shrinks in turn.
    ///
    /// A count has shrunk to `left` once `left / count` of the window remains: rounded down, since
    /// before that it has not.
    #[inline(always)]
    fn refuse(&self, limit: &Limit, attempt: Attempt, view: CounterView) -> (u64, u64) {
        let left = limit.quota() - attempt.cost;
        let ends_after_ms = view.at_ms - attempt.now_ms + limit.window_ms() - view.elapsed_ms;
        if view.current > left {
            let gone_after_ms = ends_after_ms + limit.window_ms();
            (gone_after_ms - shrunk(limit, view.current, left), gone_after_ms)
        } else {
            let reset_after_ms = ends_after_ms + if view.current == 0 { 0 } else { limit.window_ms() };
            (ends_after_ms - shrunk(limit, view.previous, left - view.current), reset_after_ms)
        }
    }

    #[inline(always)]
    fn record(&mut self, limit: &Limit, attempt: Attempt, view: CounterView) -> (u64, u64) {
        let view = CounterView { current: view.current + attempt.cost, ..view };
        self.write(&view);
        // The cost stays in view until the end of the next window.
        (view.at_ms, view.at_ms - attempt.now_ms + 2 * limit.window_ms() - view.elapsed_ms)
    }

    fn give_back(&mut self, _: &Limit, attempt: Attempt, view: CounterView) {
        let older = attempt.cost.min(view.previous);
        let newer = (attempt.cost - older).min(view.current);
        let left = CounterView { previous: view.previous - older, current: view.current - newer, ..view };
        match (older + newer, left.previous + left.current) {
            (0, _) => {}
            (_, 0) => *self = Self::default(),
            _ => self.write(&left),
        }
    }
}

/// Time before the end of a window at which a count from the one before it has shrunk to `left`,
/// which is less.
#[inline(always)]
fn shrunk(limit: &Limit, count: u64, left: u64) -> u64 {
    if count == limit.quota() && left == limit.quota() - 1 {
        limit.freed_ms()
    } else if limit.tick_ms() == 1 {
        mul_div(left, limit.window_ms(), count)
    } else {
        cold_path();
        mul_div(left, limit.ticks(limit.window_ms()), count) * limit.tick_ms()
    }
}
