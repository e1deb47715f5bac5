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
    /// Open now, those that are only told to come again included.
    pub open: u64,
    /// Taken from the system, whatever came of them.
    pub accepted: u64,
    /// One too many: told to come again, with 503.
    pub turned_away: u64,
    /// One too many even for that, or silent while others were: closed without a word.
    pub dropped: u64,
    /// Ended because no further request came.
    pub ended_idle: u64,
    /// Ended because a request did not come, or an answer was not taken, in its time.
    pub ended_slow: u64,
    /// Ended because they were idle for longest when a new one needed a place.
    pub ended_for_room: u64,
    /// Ended because of what its client sent: a head without an end, calls that are cancelled as they are made, HTTP where the
    /// protocol of Redis is spoken.
    pub ended_abusive: u64,
}

/// Counters of connections.
#[derive(Default)]
pub(crate) struct ConnectionCounts {
    closed: AtomicU64,
    accepted: AtomicU64,
    turned_away: AtomicU64,
    dropped: AtomicU64,
    ended_idle: AtomicU64,
    ended_slow: AtomicU64,
    ended_for_room: AtomicU64,
    ended_abusive: AtomicU64,
    abuse_log: Mutex<LogThrottle>,
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
}

impl ConnectionCounts {
    pub(crate) fn add(&self, event: Event) {
        let count = match event {
            Event::Accepted => &self.accepted,
            Event::Closed => &self.closed,
            Event::TurnedAway => &self.turned_away,
            Event::Dropped => &self.dropped,
            Event::EndedIdle => &self.ended_idle,
            Event::EndedSlow => &self.ended_slow,
            Event::EndedForRoom => &self.ended_for_room,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that is ended because of what its client sent, and logs it at most once a second.
    #[cold]
    pub(crate) fn end_abusive(&self, listener: Listener, peer: IpAddr, reason: &'static str) {
        self.ended_abusive.fetch_add(1, Ordering::Relaxed);
        if let Some(times) = self.abuse_log.lock().note() {
            tracing::warn!(listener = listener.name(), times, last = %peer, reason, "connection ended");
        }
    }

    pub(crate) fn stats(&self) -> ConnectionStats {
        // Closed first: what is accepted meanwhile then only makes more of them open.
        let closed = self.closed.load(Ordering::Acquire);
        let accepted = self.accepted.load(Ordering::Relaxed);
        ConnectionStats {
            open: accepted.saturating_sub(closed),
            accepted,
            turned_away: self.turned_away.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            ended_idle: self.ended_idle.load(Ordering::Relaxed),
            ended_slow: self.ended_slow.load(Ordering::Relaxed),
            ended_for_room: self.ended_for_room.load(Ordering::Relaxed),
            ended_abusive: self.ended_abusive.load(Ordering::Relaxed),
        }
    }
}
