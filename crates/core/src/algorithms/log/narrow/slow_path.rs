//! What is out of the way of all other paths: with the parts instead of a [`Narrow`], which so never has to be in memory.

use super::Narrow;
use crate::algorithms::log::entries::{self, Entries};
use crate::algorithms::log::{Entry, Head, Ring};

#[cold]
#[inline(never)]
pub(super) fn step_back(head: &mut Head, ring: &mut Ring, now_ms: u64, window_ms: u64) -> u64 {
    entries::step_back(&mut Narrow { head, ring }, now_ms, window_ms)
}

#[cold]
#[inline(never)]
pub(super) fn drop_expired(head: &mut Head, ring: &mut Ring, at_ms: u64, window_ms: u64) {
    entries::drop_expired(&mut Narrow { head, ring }, at_ms, window_ms);
}

#[cold]
#[inline(never)]
pub(super) fn insert(head: &mut Head, ring: &mut Ring, last_ms: u64, entry: Entry, most: usize) -> u64 {
    entries::insert(&mut Narrow { head, ring }, last_ms, entry, most)
}

#[cold]
#[inline(never)]
pub(super) fn enough_ms(head: &Head, ring: &Ring, excess: u64) -> u64 {
    entries::enough_ms(ring.iter(head), excess)
}

/// Adds an entry where no place is left. The first entry of all needs none.
#[cold]
#[inline(never)]
pub(super) fn push(head: &mut Head, ring: &mut Ring, last_ms: u64, entry: Entry, most: usize) {
    if head.is_empty() {
        return head.push(last_ms, entry);
    }
    ring.grow(head, most);
    head.set_oldest(head.oldest_ms(), 0);
    Narrow { head, ring }.push(last_ms, entry, most);
}
