//! GCRA as a meter: a debt that every unit raises by a window's length and every millisecond lowers
//! by the quota.
//!
//! In these units an interval of window / quota is never rounded: 3,000 per second is exact. The
//! theoretical arrival time of the textbook is `last + debt / quota`.
//!
//! A debt outlives a change of the quota: it drains at the quota of the request, and one above the
//! burst of the request counts as a full burst at the time of its last write. Neither is written
//! unless a cost is admitted, so a denial or a peek under another quota changes nothing. A debt is
//! over, for all quotas alike, when the quota under which it was written has drained it; then a
//! store may drop it.

use core::hint::cold_path;

use crate::history::{Attempt, History};
use crate::limit::Limit;
use crate::time::{ClockReading, read};

/// State of one key under GCRA.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Gcra {
    /// Time of the last write, at which the debt was this large.
    pub last_ms: u64,
    /// Debt, in units times milliseconds of window.
    pub debt: u64,
    /// Quota under which it was written; 0 without a debt.
    pub quota: u64,
}

/// View of a debt under a limit.
#[derive(Clone, Copy, Debug)]
pub struct GcraView {
    /// Debt at the last write or now, whichever is later; at most burst × window.
    debt: u64,
    /// Distance of the last write ahead of now, if the clock stepped back.
    ahead_ms: u64,
    /// Time from then until the debt is over for all quotas, if that may come first.
    over_ms: u64,
}

impl GcraView {
    const NOTHING: Self = Self { debt: 0, ahead_ms: 0, over_ms: u64::MAX };

    /// Debt now.
    #[inline]
    fn now(self, limit: &Limit) -> u64 {
        self.debt.saturating_add(self.ahead_ms.saturating_mul(limit.quota()))
    }

    /// Time until the debt is at most `most`, which is less than the debt now.
    #[inline]
    fn until_ms(self, limit: &Limit, most: u64) -> u64 {
        let drained_ms = if self.debt >= most {
            self.ahead_ms.saturating_add((self.debt - most).div_ceil(limit.quota()))
        } else {
            self.ahead_ms.saturating_sub((most - self.debt) / limit.quota())
        };
        drained_ms.min(self.ahead_ms.saturating_add(self.over_ms))
    }
}

impl Gcra {
    /// Time after the last write at which it is over, whatever the limit.
    #[inline]
    fn lasts_ms(&self) -> u64 {
        self.debt.div_ceil(self.quota.max(1))
    }

    /// True if it is over at a time, whatever the limit.
    #[inline]
    fn is_over(&self, now_ms: u64) -> bool {
        self.quota == 0 || now_ms.saturating_sub(self.last_ms).saturating_mul(self.quota) >= self.debt
    }
}

/// Debt of a whole burst.
#[inline]
fn full(limit: &Limit) -> u64 {
    limit.ceiling() * limit.window_ms()
}

impl History for Gcra {
    type View = GcraView;

    #[inline]
    fn peek(&mut self, limit: &Limit, now_ms: u64) -> (u64, GcraView) {
        if let ClockReading::Repair(now_ms) = read(now_ms, self.last_ms, limit.window_ms()) {
            self.last_ms = now_ms;
        }
        if self.is_over(now_ms) {
            // Same as a new key: the time of the last write has no meaning.
            *self = Self::default();
            return (limit.ceiling(), GcraView::NOTHING);
        }
        let owed = self.view(limit, now_ms);
        (full(limit).saturating_sub(owed.now(limit)) / limit.window_ms(), owed)
    }

    #[inline]
    fn view(&self, limit: &Limit, now_ms: u64) -> GcraView {
        let (elapsed_ms, ahead_ms) =
            (now_ms.saturating_sub(self.last_ms), self.last_ms.saturating_sub(now_ms));
        let debt = self.debt.min(full(limit)).saturating_sub(elapsed_ms.saturating_mul(limit.quota()));
        let mut over_ms = u64::MAX;
        if self.quota != limit.quota() {
            cold_path();
            over_ms = self.lasts_ms().saturating_sub(elapsed_ms);
        }
        GcraView { debt, ahead_ms, over_ms }
    }

    #[inline]
    fn reset_after_ms(&self, limit: &Limit, _: u64, owed: GcraView) -> u64 {
        owed.until_ms(limit, 0)
    }

    fn wait_ms(&self, limit: &Limit, attempt: Attempt, owed: GcraView) -> u64 {
        owed.until_ms(limit, full(limit) - attempt.cost * limit.window_ms())
    }

    #[inline]
    fn record(&mut self, limit: &Limit, attempt: Attempt, owed: GcraView) -> (u64, u64) {
        let debt = owed.now(limit) + attempt.cost * limit.window_ms();
        *self = Self { last_ms: attempt.now_ms, debt, quota: limit.quota() };
        (attempt.now_ms, debt.div_ceil(limit.quota()))
    }

    fn lingers_ms(&self, now_ms: u64) -> u64 {
        self.last_ms.saturating_add(self.lasts_ms()).saturating_sub(now_ms)
    }

    fn give_back(&mut self, limit: &Limit, attempt: Attempt, owed: GcraView) {
        if owed.debt == 0 {
            return;
        }
        let returned = attempt.cost.saturating_mul(limit.window_ms());
        *self = match owed.debt.saturating_sub(returned) {
            0 if owed.ahead_ms == 0 => Self::default(),
            // Where the clock stepped back the last write stays: what lies ahead of now was not
            // given back.
            debt => {
                Self { last_ms: self.last_ms.max(attempt.now_ms), debt: debt.max(1), quota: limit.quota() }
            }
        };
    }
}
