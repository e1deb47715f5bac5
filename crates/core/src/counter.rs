//! Two aligned windows: the current count, and the previous one weighted by how much of it is still in view.

use core::hint::cold_path;

use crate::history::{Attempt, History};
use crate::limit::Limit;
use crate::settle::{MAX_DEBT, Receipt, Settled, settled_count};
use crate::time::{Reading, mul_div, mul_div_ceil, read};

/// The history of one key under one counter: what came in the window of the last write, and in the one before.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counter {
    last_ms: u64,
    /// The start of the window that holds `last_ms`, kept since it takes a division.
    start_ms: u64,
    previous: u64,
    current: u64,
}

/// The two windows as they stand at some time.
#[derive(Clone, Copy, Debug)]
pub struct View {
    at_ms: u64,
    start_ms: u64,
    previous: u64,
    current: u64,
}

impl Counter {
    /// A history from its parts: when it was last written, the units of that window, and of the one before.
    #[inline(always)]
    pub fn new(limit: &Limit, last_ms: u64, previous: u64, current: u64) -> Self {
        let start_ms = limit.window_start_ms(last_ms);
        Self { last_ms, start_ms, previous: previous.min(MAX_DEBT), current: current.min(MAX_DEBT) }
    }

    /// When it was last written.
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

    #[inline(always)]
    pub(crate) fn view(&self, limit: &Limit, now_ms: u64) -> View {
        self.view_at(limit, now_ms.max(self.last_ms))
    }

    /// The view at a time that is not before the last write.
    #[inline(always)]
    fn view_at(&self, limit: &Limit, at_ms: u64) -> View {
        let window_ms = limit.window_ms();
        let since_ms = at_ms - self.start_ms;
        let (start_ms, previous, current) = if since_ms < window_ms {
            (self.start_ms, self.previous, self.current)
        } else if since_ms < 2 * window_ms {
            cold_path();
            (self.start_ms + window_ms, self.current, 0)
        } else {
            cold_path();
            (limit.window_start_ms(at_ms), 0, 0)
        };
        View { at_ms, start_ms, previous, current }
    }

    /// The state for a clock that stepped back. By value, as everything cold here: a reference would force the common
    /// path to keep the state in memory.
    #[cold]
    #[inline(never)]
    fn stepped_back(self, limit: &Limit, now_ms: u64) -> Self {
        match read(now_ms, self.last_ms, limit.window_ms()) {
            // As if never seen: then the time of the last write means nothing either.
            _ if self.previous | self.current == 0 => Self::default(),
            // Everything that lies ahead is taken to have come now.
            Reading::Repair(ms) => Self::new(limit, ms, 0, self.previous + self.current),
            Reading::At(_) => self,
        }
    }

    #[inline(always)]
    fn write(&mut self, view: &View) {
        let View { at_ms, start_ms, previous, current } = *view;
        *self = Self { last_ms: at_ms, start_ms, previous, current };
    }

    pub(crate) fn settle(&mut self, limit: &Limit, receipt: &Receipt, cost: u64, now_ms: u64) -> Settled {
        let (_, mut view) = self.look(limit, now_ms);
        let window_ms = limit.window_ms();
        let stamped_ms = limit.window_start_ms(receipt.stamp_ms);
        let count = if stamped_ms == view.start_ms {
            &mut view.current
        } else if view.start_ms.checked_sub(stamped_ms) == Some(window_ms) {
            &mut view.previous
        } else {
            return Settled::Gone;
        };
        *count = settled_count(*count, receipt.cost, cost);
        self.write(&view);
        Settled::Done
    }
}

impl View {
    /// The first time at which the cost fits if nothing else comes, solved window by window.
    #[cold]
    #[inline(never)]
    fn fits_at_ms(self, limit: &Limit, cost: u64) -> u64 {
        let next_ms = self.start_ms + limit.window_ms();
        let room = limit.quota().checked_sub(self.current + cost);
        if let Some(elapsed_ms) = room.and_then(|room| fits_from(limit, self.previous, room)) {
            return self.start_ms + elapsed_ms;
        }
        match fits_from(limit, self.current, limit.quota() - cost) {
            Some(elapsed_ms) => next_ms + elapsed_ms,
            None => next_ms + limit.window_ms(),
        }
    }

    #[inline(always)]
    fn reset_after_ms(&self, limit: &Limit, now_ms: u64) -> u64 {
        let windows = match (self.previous, self.current) {
            (0, 0) => return 0,
            (_, 0) => 1,
            _ => 2,
        };
        self.start_ms + windows * limit.window_ms() - now_ms
    }

    /// What the previous window still weighs, rounded up to whole units.
    #[inline(always)]
    fn weighted(&self, limit: &Limit) -> u64 {
        if self.previous == 0 {
            return 0;
        }
        let window = limit.ticks(limit.window_ms());
        let elapsed = limit.ticks(self.at_ms - self.start_ms);
        mul_div_ceil(self.previous, window - elapsed, window)
    }
}

impl History for Counter {
    type View = View;

    #[inline(always)]
    fn look(&mut self, limit: &Limit, now_ms: u64) -> (u64, View) {
        let mut at_ms = now_ms;
        if now_ms < self.last_ms {
            *self = self.stepped_back(limit, now_ms);
            at_ms = now_ms.max(self.last_ms);
        }
        let view = self.view_at(limit, at_ms);
        (limit.quota().saturating_sub(view.current + view.weighted(limit)), view)
    }

    #[inline(always)]
    fn reset_after_ms(&self, limit: &Limit, now_ms: u64, view: View) -> u64 {
        view.reset_after_ms(limit, now_ms)
    }

    #[inline(always)]
    fn wait_ms(&self, limit: &Limit, attempt: Attempt, view: View) -> u64 {
        view.fits_at_ms(limit, attempt.cost) - attempt.now_ms
    }

    #[inline(always)]
    fn record(&mut self, limit: &Limit, attempt: Attempt, view: View) -> (u64, u64) {
        let view = View { current: view.current + attempt.cost, ..view };
        self.write(&view);
        // What was just written stays in view to the end of the next window.
        (view.at_ms, view.start_ms + 2 * limit.window_ms() - attempt.now_ms)
    }
}

/// How far into a window the previous count has shrunk to `room`, or `None` if it does not within the window.
fn fits_from(limit: &Limit, previous: u64, room: u64) -> Option<u64> {
    let window = limit.ticks(limit.window_ms());
    if previous == 0 {
        return Some(0);
    }
    match mul_div(room, window, previous) {
        0 => None,
        overlap => Some(window.saturating_sub(overlap) * limit.tick_ms()),
    }
}
