//! Requests without a valid token: counted by listener, and logged at most once a second for each.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::log_throttle::LogThrottle;
use crate::config::listener::Listener;

/// Failure of authentication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AuthFailure {
    Missing,
    Wrong,
}

impl AuthFailure {
    /// Both, with the label of each.
    pub(crate) const ALL: [(Self, &'static str); 2] = [(Self::Missing, "missing"), (Self::Wrong, "wrong")];
}

/// Counts of requests without a valid token, by listener.
#[derive(Default)]
pub(crate) struct AuthFailures {
    listeners: [ListenerFailures; Listener::ALL.len()],
}

#[derive(Default)]
struct ListenerFailures {
    counts: [AtomicU64; AuthFailure::ALL.len()],
    log: Mutex<LogThrottle>,
}

impl AuthFailures {
    /// Counts a request. A wrong token is logged with the address of the client, without the token:
    /// a guess may be close. The next line has the number of those in between.
    pub(crate) fn record(&self, listener: Listener, peer: IpAddr, failure: AuthFailure) {
        let failures = &self.listeners[listener as usize];
        failures.counts[failure as usize].fetch_add(1, Ordering::Relaxed);
        if failure == AuthFailure::Wrong
            && let Some(times) = failures.log.lock().note()
        {
            tracing::warn!(listener = listener.name(), times, last = %peer, "wrong token");
        }
    }

    pub(crate) fn count(&self, listener: Listener, failure: AuthFailure) -> u64 {
        self.listeners[listener as usize].counts[failure as usize].load(Ordering::Relaxed)
    }
}
