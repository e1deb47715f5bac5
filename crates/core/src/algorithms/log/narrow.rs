//! Narrow log: 26 bytes and 6 per entry; counts up to 65,535, stamps less than 49 days apart.

mod ring_entries;
mod slow_path;

use super::entries::{self, slot_end_ms};
use super::head::LogHead;
use super::ring::Ring;
use crate::history::{Attempt, History};
use crate::limit::Limit;
use crate::time::{ClockReading, read};

/// Maximum count of an entry in a ring.
pub(super) const MAX_COUNT: u64 = u16::MAX as u64;
/// Exclusive maximum distance between stamps of a narrow log.
pub(super) const SPAN_MS: u64 = 1 << 32;
/// Maximum number of entries of a narrow log.
pub(super) const MAX_LEN: usize = u16::MAX as usize;

/// Narrow log, borrowed from its owner. Check [`NarrowLog::fits`] before anything else.
#[derive(Debug)]
pub struct NarrowLog<'a> {
    /// Its numbers.
    pub head: &'a mut LogHead,
    /// Its entries.
    pub ring: &'a mut Ring,
}

impl NarrowLog<'_> {
    /// True if this attempt can be decided in narrow form, whatever its outcome and whatever the
    /// limit was before. If not, use [`Log`](crate::Log).
    #[inline(always)]
    pub fn fits(&self, limit: &Limit, attempt: Attempt) -> bool {
        fits(self.head, self.ring, limit, attempt)
    }

    /// True if a cost that fits may take memory, in a log that [has slots
    /// of](crate::Log::has_slots_of) this limit. If there are as many entries as the limit can
    /// need, the next one replaces one that leaves.
    #[inline(always)]
    pub fn may_grow(&self, limit: &Limit) -> bool {
        self.ring.is_full_for(self.head) && self.head.len() != limit.max_entries()
    }
}

#[inline(always)]
pub(super) fn fits(head: &LogHead, ring: &Ring, limit: &Limit, attempt: Attempt) -> bool {
    // If the sum of all units fits a count, every count does, and the number of entries too: each
    // has a unit. Entries left after a peek are younger than the window; only the end of a longer
    // slot can lie too far ahead. A cost so large that the sum wraps is never admitted.
    let small = head.total().wrapping_add(attempt.cost) <= MAX_COUNT;
    let is_near = head.newest_ms().saturating_sub(attempt.now_ms) < SPAN_MS;
    small && is_short(limit) && is_near || may_fit(head, ring, limit, (attempt.now_ms, attempt.cost))
}

/// True if recording a cost may change the bytes on the heap: because no slot is free, or because
/// the log outgrows its narrow form.
#[inline(always)]
pub(super) fn may_grow(head: &LogHead, ring: &Ring, limit: &Limit) -> bool {
    limit.quota() > MAX_COUNT || !is_short(limit) || {
        !head.is_empty() && ring.is_full_for(head) && !entries::is_spent(head.len(), limit)
    }
}

#[inline(always)]
fn is_short(limit: &Limit) -> bool {
    limit.log_span_ms() < SPAN_MS
}

/// [`NarrowLog::fits`] for large quotas and long windows.
#[cold]
#[inline(never)]
fn may_fit(head: &LogHead, ring: &Ring, limit: &Limit, (now_ms, cost): (u64, u64)) -> bool {
    let (at_ms, repairs) = match read(now_ms, head.last_ms(), limit.window_ms()) {
        ClockReading::At(ms) => (ms, false),
        ClockReading::Repair(ms) => (ms, true),
    };
    let stamp_ms = slot_end_ms(limit, at_ms);
    if !head.is_empty() && head.newest_ms() > stamp_ms {
        // An insertion before newer entries: left to the wide form.
        return false;
    }
    let is_far = || stamp_ms - head.oldest_ms().min(at_ms) >= SPAN_MS;
    if !is_short(limit) && !head.is_empty() && is_far() {
        return false;
    }
    let total = head.total().saturating_add(cost);
    if total <= MAX_COUNT {
        return true;
    }
    if repairs || total > u64::from(u32::MAX) {
        // A repair merges many entries into one.
        return false;
    }
    if ring.capacity() > 0 {
        let newest = if head.is_empty() { 0 } else { ring.get(head, head.len() - 1).count };
        return newest + cost <= MAX_COUNT && head.len() < MAX_LEN;
    }
    // The only entry is not in a ring, and its count is the total.
    head.is_empty() || head.newest_ms() == stamp_ms || head.total().max(cost) <= MAX_COUNT
}

#[inline(always)]
pub(super) fn reset_after_ms(head: &LogHead, limit: &Limit, now_ms: u64) -> u64 {
    entries::reset_after_ms((head.newest_ms(), head.total()), limit, now_ms)
}

#[inline(always)]
pub(super) fn wait_ms(head: &LogHead, ring: &Ring, limit: &Limit, attempt: Attempt) -> u64 {
    let enough_ms = |excess| slow_path::enough_ms(head, ring, excess);
    entries::wait_ms((head.oldest_ms(), head.total()), enough_ms, limit, attempt)
}

impl History for NarrowLog<'_> {
    /// Time at which to decide.
    type View = u64;

    #[inline(always)]
    fn ceiling(limit: &Limit) -> u64 {
        limit.quota()
    }

    #[inline(always)]
    fn peek(&mut self, limit: &Limit, now_ms: u64) -> (u64, u64) {
        entries::peek(self, limit, now_ms)
    }

    #[inline(always)]
    fn view(&self, _: &Limit, now_ms: u64) -> u64 {
        self.head.last_ms().max(now_ms)
    }

    #[inline(always)]
    fn reset_after_ms(&self, limit: &Limit, now_ms: u64, _: u64) -> u64 {
        reset_after_ms(self.head, limit, now_ms)
    }

    #[inline(always)]
    fn wait_ms(&self, limit: &Limit, attempt: Attempt, _: u64) -> u64 {
        wait_ms(self.head, self.ring, limit, attempt)
    }

    #[inline(always)]
    fn record(&mut self, limit: &Limit, attempt: Attempt, at_ms: u64) -> (u64, u64) {
        entries::record(self, limit, attempt, at_ms)
    }

    fn give_back(&mut self, _: &Limit, attempt: Attempt, at_ms: u64) {
        entries::give_back(self, attempt.cost, at_ms);
    }
}
