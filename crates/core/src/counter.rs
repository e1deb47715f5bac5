//! Two aligned windows: the current count, and the previous one weighted by how much of it is still in view.

use crate::limit::Limit;
use crate::settle::{Receipt, Settled, settled_count};
use crate::state::Standing;
use crate::time::{Reading, mul_div, mul_div_ceil, read};

/// The history of one key under one counter: what came in the window of the last write, and in the one before.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counter {
    /// When it was last written; the window of `current` is the one that holds this time.
    pub last_ms: u64,
    /// Units of the window before.
    pub previous: u64,
    /// Units of the window.
    pub current: u64,
}

/// The two windows as they stand at some time.
struct View {
    at_ms: u64,
    start_ms: u64,
    previous: u64,
    current: u64,
}

impl View {
    #[inline]
    fn ticks(&self, limit: &Limit) -> u64 {
        (self.at_ms - self.start_ms) / limit.tick_ms()
    }
}

/// The window's length in ticks.
#[inline]
fn window_ticks(limit: &Limit) -> u64 {
    limit.window_ms() / limit.tick_ms()
}

impl Counter {
    #[inline]
    fn view(&self, limit: &Limit, now_ms: u64) -> View {
        let window_ms = limit.window_ms();
        let at_ms = now_ms.max(self.last_ms);
        let start_ms = at_ms - at_ms % window_ms;
        let (previous, current) = if self.last_ms >= start_ms {
            (self.previous, self.current)
        } else if self.last_ms + window_ms >= start_ms {
            (self.current, 0)
        } else {
            (0, 0)
        };
        View { at_ms, start_ms, previous, current }
    }

    #[inline]
    pub(crate) fn look(&mut self, limit: &Limit, now_ms: u64) -> Standing {
        if let Reading::Repair(ms) = read(now_ms, self.last_ms, limit.window_ms()) {
            self.repair(ms);
        }
        let view = self.view(limit, now_ms);
        if view.previous | view.current == 0 {
            // As if never seen: then the time of the last write means nothing either.
            *self = Self::default();
        }
        let window = window_ticks(limit);
        let weighted = mul_div_ceil(view.previous, window - view.ticks(limit), window);
        Standing {
            remaining: limit.quota().saturating_sub(view.current).saturating_sub(weighted),
            reset_after_ms: Self::reset_after_ms(limit, &view, now_ms),
        }
    }

    /// Everything that lies ahead is taken to have come now.
    #[cold]
    fn repair(&mut self, now_ms: u64) {
        *self = Self { last_ms: now_ms, previous: 0, current: self.previous + self.current };
    }

    #[inline]
    fn reset_after_ms(limit: &Limit, view: &View, now_ms: u64) -> u64 {
        let windows = match (view.previous, view.current) {
            (0, 0) => return 0,
            (_, 0) => 1,
            _ => 2,
        };
        view.start_ms + windows * limit.window_ms() - now_ms
    }

    /// The first time at which the cost fits if nothing else comes, solved window by window.
    pub(crate) fn wait_ms(&self, limit: &Limit, cost: u64, now_ms: u64) -> u64 {
        let view = self.view(limit, now_ms);
        let next_ms = view.start_ms + limit.window_ms();
        let room = limit.quota().checked_sub(view.current.saturating_add(cost));
        let ready_ms = room
            .and_then(|room| fits_from(limit, view.previous, room))
            .map(|elapsed_ms| view.start_ms + elapsed_ms)
            .or_else(|| {
                let elapsed_ms = fits_from(limit, view.current, limit.quota() - cost)?;
                Some(next_ms + elapsed_ms)
            })
            .unwrap_or(next_ms + limit.window_ms());
        ready_ms - now_ms
    }

    #[inline]
    pub(crate) fn record(&mut self, limit: &Limit, cost: u64, now_ms: u64) -> (u64, u64) {
        let view = self.view(limit, now_ms);
        let view = View { current: view.current + cost, ..view };
        self.write(&view);
        (view.at_ms, Self::reset_after_ms(limit, &view, now_ms))
    }

    #[inline]
    fn write(&mut self, view: &View) {
        *self = Self { last_ms: view.at_ms, previous: view.previous, current: view.current };
    }

    pub(crate) fn settle(&mut self, limit: &Limit, receipt: &Receipt, cost: u64, now_ms: u64) -> Settled {
        self.look(limit, now_ms);
        let mut view = self.view(limit, now_ms);
        let window_ms = limit.window_ms();
        let stamped_ms = receipt.stamp_ms - receipt.stamp_ms % window_ms;
        let count = if stamped_ms == view.start_ms {
            &mut view.current
        } else if stamped_ms + window_ms == view.start_ms {
            &mut view.previous
        } else {
            return Settled::Gone;
        };
        *count = settled_count(*count, receipt.cost, cost);
        self.write(&view);
        Settled::Done
    }
}

/// How far into a window the previous count has shrunk to `room`, or `None` if it does not within the window.
fn fits_from(limit: &Limit, previous: u64, room: u64) -> Option<u64> {
    let window = window_ticks(limit);
    if previous == 0 {
        return Some(0);
    }
    match mul_div(room, window, previous) {
        0 => None,
        overlap => Some(window.saturating_sub(overlap) * limit.tick_ms()),
    }
}
