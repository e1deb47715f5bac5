//! Time that passes by the decision instead of by the second.
//!
//! How many requests are let through must not depend on how fast the machine is or on who else is measured in
//! between. So where entries are to leave while others come, the clock is read as always, for its cost, and the time
//! that is used moves by a fixed step per decision.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A time that its readers move. Clones share it; only one thread at a time may read it.
#[derive(Clone, Default, Debug)]
pub struct Steps(Arc<Shared>);

#[derive(Default, Debug)]
struct Shared {
    now: AtomicU64,
    step: AtomicU64,
}

impl Steps {
    /// From now on every reading moves the time by this much; 0 holds it.
    pub fn set_step(&self, step: u64) {
        self.0.step.store(step, Relaxed);
    }

    /// Jumps.
    pub fn set_now(&self, now: u64) {
        self.0.now.store(now, Relaxed);
    }

    /// The time, without moving it.
    pub fn now(&self) -> u64 {
        self.0.now.load(Relaxed)
    }

    /// Moves the time and reads it. A load and a store: an atomic addition would cost more than what is measured.
    #[inline]
    pub fn next(&self) -> u64 {
        let now = self.0.now.load(Relaxed) + self.0.step.load(Relaxed);
        self.0.now.store(now, Relaxed);
        now
    }
}
