//! Requests without the right token: counted by listener, and logged at most once a second for each.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::log_throttle::Seldom;
use crate::config::listener::Door;

/// What is wrong with the token of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AuthFailure {
    Missing,
    Wrong,
}

impl AuthFailure {
    /// Both, with the label of each.
    pub(crate) const ALL: [(Self, &'static str); 2] = [(Self::Missing, "missing"), (Self::Wrong, "wrong")];
}

/// Counts of requests without the right token, by listener.
#[derive(Default)]
pub(crate) struct AuthFailures {
    listeners: [Listener; Door::ALL.len()],
}

#[derive(Default)]
struct Listener {
    counts: [AtomicU64; AuthFailure::ALL.len()],
    log: Mutex<Seldom>,
}

impl AuthFailures {
    /// Counts a request. A wrong token is logged with the address that sent it, without the token: a guess may be close. More of them
    /// within a second are summed up in the next line.
    pub(crate) fn record(&self, door: Door, peer: IpAddr, failure: AuthFailure) {
        let listener = &self.listeners[door as usize];
        listener.counts[failure as usize].fetch_add(1, Ordering::Relaxed);
        if failure == AuthFailure::Wrong
            && let Some(times) = listener.log.lock().note()
        {
            tracing::warn!(listener = door.name(), times, last = %peer, "wrong token");
        }
    }

    pub(crate) fn count(&self, door: Door, failure: AuthFailure) -> u64 {
        self.listeners[door as usize].counts[failure as usize].load(Ordering::Relaxed)
    }
}
