//! Counts of connections.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::config::listener::Listener;
use crate::telemetry::log_throttle::LogThrottle;

/// Counts of connections since startup.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct ConnectionStats {
    /// Open now, surplus connections included.
    pub open: u64,
    /// Accepted from the system, whatever happened next.
    pub accepted: u64,
    /// Surplus connections: refused with 503 and a retry.
    pub turned_away: u64,
    /// Surplus connections that were closed without a response, because there were too many of
    /// them.
    pub dropped: u64,
    /// Ended because no further request came.
    pub ended_idle: u64,
    /// Ended because a request, or the reading of a response, took too long.
    pub ended_slow: u64,
    /// Ended because they were idle for longest when a new connection needed a slot.
    pub ended_for_room: u64,
    /// Ended because of what the client sent: a head without an end, calls that are cancelled as
    /// they are made, HTTP instead of the protocol of Redis.
    pub ended_abusive: u64,
}

/// Event of a connection that is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Accepted,
    Closed,
    TurnedAway,
    Dropped,
    EndedIdle,
    EndedSlow,
    EndedForRoom,
    EndedAbusive,
}

/// Counters of connections, one for each [`Event`].
#[derive(Default)]
pub(crate) struct ConnectionCounts {
    events: [AtomicU64; Event::EndedAbusive as usize + 1],
    abuse_log: Mutex<LogThrottle>,
}

impl ConnectionCounts {
    pub(crate) fn add(&self, event: Event) {
        self.events[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that is ended because of what its client sent, and logs it at most once
    /// a second.
    #[cold]
    pub(crate) fn end_abusive(&self, listener: Listener, peer: IpAddr, reason: &'static str) {
        self.add(Event::EndedAbusive);
        if let Some(times) = self.abuse_log.lock().note() {
            tracing::warn!(listener = listener.name(), times, last = %peer, reason, "connection ended");
        }
    }

    pub(crate) fn stats(&self) -> ConnectionStats {
        let count = |event: Event| self.events[event as usize].load(Ordering::Acquire);
        // Closed first: connections that are accepted meanwhile then only make more of them open.
        let closed = count(Event::Closed);
        let accepted = count(Event::Accepted);
        ConnectionStats {
            open: accepted.saturating_sub(closed),
            accepted,
            turned_away: count(Event::TurnedAway),
            dropped: count(Event::Dropped),
            ended_idle: count(Event::EndedIdle),
            ended_slow: count(Event::EndedSlow),
            ended_for_room: count(Event::EndedForRoom),
            ended_abusive: count(Event::EndedAbusive),
        }
    }
}
