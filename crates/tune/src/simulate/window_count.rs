//! Count of the requests in the last window, exact to the millisecond.
//!
//! A simulation is a claim about the engine, so this counts without it.

use std::collections::VecDeque;

/// Count of the requests in the last window.
#[derive(Debug)]
pub(super) struct WindowCount {
    window_ms: u64,
    /// Times, oldest first.
    times_ms: VecDeque<u64>,
}

impl WindowCount {
    pub(super) fn new(window_ms: u64) -> Self {
        Self { window_ms, times_ms: VecDeque::new() }
    }

    /// Adds a request, which is not before any other.
    pub(super) fn add(&mut self, now_ms: u64) {
        self.times_ms.push_back(now_ms);
    }

    /// Requests of the window that ends now, which may only move on.
    pub(super) fn at(&mut self, now_ms: u64) -> u64 {
        while self.times_ms.front().is_some_and(|time_ms| time_ms + self.window_ms <= now_ms) {
            self.times_ms.pop_front();
        }
        self.times_ms.len() as u64
    }
}
