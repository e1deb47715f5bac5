//! Time that passes by the decision instead of by the second.
//!
//! The number of admitted requests must not depend on the speed of the machine or on other
//! measurements in between. So where entries have to leave while others come, the clock is read as
//! always, for its cost, and the time in use moves by a fixed step per decision.

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
    /// Sets the step of the time per reading; 0 stops it.
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

    /// Moves the time and reads it. A load and a store: an atomic addition would cost more than
    /// what is measured.
    #[inline]
    pub fn next(&self) -> u64 {
        let now = self.0.now.load(Relaxed) + self.0.step.load(Relaxed);
        self.0.now.store(now, Relaxed);
        now
    }
}
