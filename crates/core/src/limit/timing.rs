//! Time arithmetic of a limit: aligned windows, ticks of counters, slots of logs.

use core::hint::cold_path;

use super::{DAY_MS, Limit, SECOND_MS};
use crate::time::guess_div_rem;

impl Limit {
    /// Start of the aligned window that contains a time.
    #[inline(always)]
    pub(crate) fn window_start_ms(&self, at_ms: u64) -> u64 {
        at_ms - self.elapsed_ms(at_ms)
    }

    /// Time since the start of the aligned window that contains a time.
    #[inline(always)]
    pub fn elapsed_ms(&self, at_ms: u64) -> u64 {
        let (_, left) = guess_div_rem(at_ms, self.window_ms(), self.reciprocal);
        if left < self.window_ms() {
            left
        } else {
            cold_path();
            at_ms % self.window_ms
        }
    }

    /// `units * ms / window`, rounded down; `None` for the few products that need a division.
    #[inline(always)]
    pub(crate) fn share(&self, units: u64, ms: u64) -> Option<u64> {
        let (share, left) = guess_div_rem(units.checked_mul(ms)?, self.window_ms(), self.reciprocal);
        if left < self.window_ms() { Some(share) } else { None }
    }

    /// Time before the end of a counter's window at which a count from the one before it, if it was
    /// the whole quota, has shrunk by one.
    #[inline(always)]
    pub(crate) const fn freed_ms(&self) -> u64 {
        self.freed_ms
    }

    /// Unit in which a counter measures time: a second for windows above a day, where
    /// count × milliseconds would no longer be exact in a double.
    #[inline]
    pub(crate) const fn tick_ms(&self) -> u64 {
        if self.window_ms.get() > DAY_MS { SECOND_MS } else { 1 }
    }

    /// Whole ticks. The divisor is a constant, so this compiles without a division.
    #[inline]
    pub(crate) const fn ticks(&self, ms: u64) -> u64 {
        if self.window_ms.get() > DAY_MS { ms / SECOND_MS } else { ms }
    }

    /// Time up to the last whole tick.
    #[inline(always)]
    pub(crate) const fn whole_ticks(&self, ms: u64) -> u64 {
        if self.window_ms.get() > DAY_MS { ms - ms % SECOND_MS } else { ms }
    }

    /// [`Limit::resolution_ms`] of a limit that is certainly a log.
    #[inline(always)]
    pub(crate) const fn log_slot_ms(&self) -> u64 {
        self.extra
    }

    /// Window and slot of a log: entries left after a peek and the one then recorded are closer
    /// together than this.
    #[inline(always)]
    pub(crate) const fn log_span_ms(&self) -> u64 {
        self.window_ms.get() + self.extra
    }
}
