//! Queue of idle connections that can be closed for new ones: the longest idle first.

use std::collections::BinaryHeap;
use std::time::Duration;

use slab::Slab;
use tokio::time::Instant;

use super::{ConnectionEntry, Order, Phase};

/// Least idle time of a connection that may be closed for another. A client that is about to send
/// its next request stays connected.
const LEAST_IDLE: Duration = Duration::from_secs(1);
/// Candidates that one scan finds.
const BATCH: usize = 256;
/// Least time between two scans: each visits every connection.
const SCAN_PAUSE: Duration = Duration::from_millis(50);

/// Candidates of the last scan, the longest idle at the end.
#[derive(Default)]
pub(super) struct IdleQueue {
    candidates: Vec<Candidate>,
    scanned: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Candidate {
    since: Instant,
    key: usize,
}

impl IdleQueue {
    /// The connection that has been idle for longest. Idle times are those of the sweep, so this is
    /// right to one of its intervals.
    pub(super) fn next(&mut self, entries: &Slab<ConnectionEntry>, now: Instant) -> Option<usize> {
        loop {
            while let Some(Candidate { since, key }) = self.candidates.pop() {
                let is_same = |entry: &ConnectionEntry| entry.since == since && entry.is_reclaimable(now);
                if entries.get(key).is_some_and(is_same) {
                    return Some(key);
                }
            }
            if self.scanned.is_some_and(|at| now.duration_since(at) < SCAN_PAUSE) {
                return None;
            }
            self.scan(entries, now);
            if self.candidates.is_empty() {
                return None;
            }
        }
    }

    fn scan(&mut self, entries: &Slab<ConnectionEntry>, now: Instant) {
        self.scanned = Some(now);
        let mut oldest = BinaryHeap::with_capacity(BATCH + 1);
        for (key, entry) in entries.iter().filter(|(_, entry)| entry.is_reclaimable(now)) {
            oldest.push(Candidate { since: entry.since, key });
            if oldest.len() > BATCH {
                oldest.pop();
            }
        }
        self.candidates = oldest.into_sorted_vec();
        self.candidates.reverse();
    }
}

impl ConnectionEntry {
    /// Whether it may be closed for another connection.
    fn is_reclaimable(&self, now: Instant) -> bool {
        matches!(self.progress.phase(), Phase::Fresh | Phase::Idle)
            && self.arrival.is_none()
            && self.progress.order() == Order::Go
            && self.progress.steps() == self.last_steps
            && now.duration_since(self.since) >= LEAST_IDLE
    }
}

#[cfg(test)]
mod tests;
