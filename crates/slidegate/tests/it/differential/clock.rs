//! Keys and permits that are retired when the clock steps back.

use slidegate::Limit;
use slidegate_core::{History, Receipt, State};

use super::permits::Part;
use super::{Both, KEYS};
use crate::drivers::Driver;

impl<S: Driver> Both<S> {
    /// Retires keys with a state that has no effect, which a store may have dropped already, and
    /// keys with a limit that is not in force, which a store may repair now or later.
    pub(super) fn retire_what_may_be_forgotten(&mut self) {
        for key in 0..KEYS {
            let states = self.limits.iter().zip(&self.keys[key].states).enumerate();
            let is_uncertain = |(index, (limit, state)): (usize, (&Limit, &State))| {
                let dead = state.clone().standing(limit, self.now_ms).reset_after_ms == 0;
                let uncertain = dead || !self.in_force.contains(&index);
                uncertain && format!("{state:?}") != format!("{:?}", State::new(limit))
            };
            if { states }.any(is_uncertain) {
                self.keys[key] = self.fresh_key();
                self.retire_permits(|part| part.key == key);
            }
        }
        // Also permits whose entry has left its window: a settlement may or may not find it.
        let now_ms = self.now_ms;
        self.retire_permits(|part| {
            part.receipts.iter().any(|(limit, receipt)| receipt.release_ms(limit) <= now_ms)
        });
    }

    /// Retires permits whose stamps a clock repair has changed.
    pub(super) fn retire_what_may_be_moved(&mut self) {
        let (now_ms, off_ms) = (self.now_ms, self.latest_ms - self.now_ms);
        let moved =
            |(limit, receipt): &(Limit, Receipt)| receipt.stamp_ms > now_ms && off_ms > limit.window_ms();
        self.retire_permits(|part| part.receipts.iter().any(moved));
    }

    pub(super) fn retire_permits(&mut self, is_over: impl Fn(&Part) -> bool) {
        self.permits.retain(|permit| !permit.parts.iter().any(&is_over));
    }
}
