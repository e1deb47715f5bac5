//! Slow paths, out of line. They take the parts of a [`NarrowLog`], so that it stays in registers.

use super::NarrowLog;
use crate::algorithms::log::entries::{self, Entries};
use crate::algorithms::log::{LogEntry, LogHead, Ring};

#[cold]
#[inline(never)]
pub(super) fn step_back(head: &mut LogHead, ring: &mut Ring, now_ms: u64, window_ms: u64) -> u64 {
    entries::step_back(&mut NarrowLog { head, ring }, now_ms, window_ms)
}

#[cold]
#[inline(never)]
pub(super) fn drop_expired(head: &mut LogHead, ring: &mut Ring, at_ms: u64, window_ms: u64) {
    entries::drop_expired(&mut NarrowLog { head, ring }, at_ms, window_ms);
}

#[cold]
#[inline(never)]
pub(super) fn insert(head: &mut LogHead, ring: &mut Ring, last_ms: u64, entry: LogEntry, most: usize) -> u64 {
    entries::insert(&mut NarrowLog { head, ring }, last_ms, entry, most)
}

#[cold]
#[inline(never)]
pub(super) fn enough_ms(head: &LogHead, ring: &Ring, excess: u64) -> u64 {
    entries::enough_ms(ring.iter(head), excess)
}

/// Adds an entry if no slot is free. The first entry of all needs none.
#[cold]
#[inline(never)]
pub(super) fn push(head: &mut LogHead, ring: &mut Ring, last_ms: u64, entry: LogEntry, most: usize) {
    if head.is_empty() {
        return head.push(last_ms, entry);
    }
    ring.grow(head, most);
    head.set_oldest(head.oldest_ms(), 0);
    NarrowLog { head, ring }.push(last_ms, entry, most);
}
