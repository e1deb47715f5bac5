//! GCRA as a meter: a debt that every unit raises by a window's length and every millisecond lowers by the quota.
//!
//! In these units an interval of window / quota is never rounded: 3,000 per second is exact. The theoretical
//! arrival time of the textbook is `last + debt / quota`.

use crate::history::{Attempt, History};
use crate::limit::Limit;

/// The history of one key under one GCRA limit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Gcra {
    /// When the debt was this large.
    pub last_ms: u64,
    /// What is owed, in units times milliseconds of window; at most burst × window.
    pub debt: u64,
}

impl Gcra {
    /// The debt at `now_ms`. Where the clock stepped back the arrival time stays, but never beyond a full burst.
    #[inline]
    pub(crate) fn debt_at(&self, limit: &Limit, now_ms: u64) -> u64 {
        let moved = |ms: u64| ms.saturating_mul(limit.quota());
        let debt = if now_ms >= self.last_ms {
            self.debt.saturating_sub(moved(now_ms - self.last_ms))
        } else {
            self.debt.saturating_add(moved(self.last_ms - now_ms))
        };
        debt.min(limit.ceiling() * limit.window_ms())
    }
}

impl History for Gcra {
    /// The debt.
    type View = u64;

    #[inline]
    fn look(&mut self, limit: &Limit, now_ms: u64) -> (u64, u64) {
        let full = limit.ceiling() * limit.window_ms();
        let debt = self.debt_at(limit, now_ms);
        if debt == full {
            // Pulled back (or just full): written even without an admission, so that the wait it implies comes true.
            *self = Self { last_ms: now_ms, debt };
        } else if debt == 0 {
            // As if never seen: then the time of the last write means nothing either.
            *self = Self::default();
        }
        ((full - debt) / limit.window_ms(), debt)
    }

    #[inline]
    fn reset_after_ms(&self, limit: &Limit, _: u64, debt: u64) -> u64 {
        debt.div_ceil(limit.quota())
    }

    fn wait_ms(&self, limit: &Limit, attempt: Attempt, debt: u64) -> u64 {
        let full = limit.ceiling() * limit.window_ms();
        let wanted = debt + attempt.cost * limit.window_ms();
        wanted.saturating_sub(full).div_ceil(limit.quota())
    }

    #[inline]
    fn record(&mut self, limit: &Limit, attempt: Attempt, debt: u64) -> (u64, u64) {
        let debt = debt + attempt.cost * limit.window_ms();
        *self = Self { last_ms: attempt.now_ms, debt };
        (attempt.now_ms, debt.div_ceil(limit.quota()))
    }

    fn give_back(&mut self, limit: &Limit, attempt: Attempt, debt: u64) {
        *self = match debt.saturating_sub(attempt.cost.saturating_mul(limit.window_ms())) {
            0 => Self::default(),
            debt => Self { last_ms: attempt.now_ms, debt },
        };
    }
}
