//! Operations on the entries of a log, for both of its forms.

use alloc::vec::Vec;
use core::hint::cold_path;

use crate::algorithms::log::LogEntry;
use crate::history::Attempt;
use crate::limit::{Limit, MAX_ENTRIES};
use crate::settle::{MAX_DEBT, Receipt, settled_count};
use crate::time::{ClockReading, read};

/// Entries in the order of their stamps, no two of them alike, each with at least one unit.
pub(super) trait Entries {
    fn last_ms(&self) -> u64;

    fn set_last_ms(&mut self, last_ms: u64);

    /// Units of all entries.
    fn total(&self) -> u64;

    /// Stamp of the first to leave; 0 without entries.
    fn oldest_ms(&self) -> u64;

    /// Stamp of the last to leave; 0 without entries.
    fn newest_ms(&self) -> u64;

    fn len(&self) -> usize;

    /// Entry at this index, which exists, counted from the oldest.
    fn get(&self, index: usize) -> LogEntry;

    fn clear(&mut self);

    /// Drops the oldest of at least two.
    fn pop_oldest(&mut self);

    /// Removes the newest of at least one; returns its count.
    fn pop_newest(&mut self) -> u64;

    /// Adds to the newest of at least one.
    fn merge(&mut self, last_ms: u64, count: u64);

    /// Adds an entry newer than all others. `most` is the maximum number of entries of the log, so
    /// that its capacity never exceeds it.
    fn push(&mut self, last_ms: u64, entry: LogEntry, most: usize);

    /// Sets the count of the entry at this index, which exists. An entry without units is removed.
    fn set_count(&mut self, index: usize, count: u64);

    /// [`step_back`], out of the way of all other paths.
    fn step_back(&mut self, now_ms: u64, window_ms: u64) -> u64;

    /// [`drop_expired`], out of the way of all other paths.
    fn drop_expired(&mut self, at_ms: u64, window_ms: u64);

    /// [`insert`], out of the way of all other paths.
    fn insert(&mut self, last_ms: u64, entry: LogEntry, most: usize) -> u64;
}

/// Capacity of a full list after growth: twice as many entries, but at most what the limit can
/// need.
pub(super) fn grown_capacity(len: usize, most: usize) -> usize {
    (len * 2).max(4).min(most).max(len + 1)
}

/// True if there are as many entries as units in the quota: then nothing is admitted before one of
/// them leaves. Slots bound their number as well, but not that of entries of a finer resolution.
#[inline(always)]
pub(super) fn is_spent(len: usize, limit: &Limit) -> bool {
    len == limit.max_entries() && len as u64 >= limit.quota()
}

/// Stamp of a cost that is admitted at this time.
#[inline(always)]
pub(crate) fn slot_end_ms(limit: &Limit, at_ms: u64) -> u64 {
    match limit.log_slot_ms() {
        0 | 1 => at_ms,
        r => at_ms - at_ms % r + (r - 1),
    }
}

/// Remaining quota, and the time at which to decide.
#[inline(always)]
pub(super) fn peek<E: Entries>(log: &mut E, limit: &Limit, now_ms: u64) -> (u64, u64) {
    let window_ms = limit.window_ms();
    let mut at_ms = if log.last_ms() <= now_ms { now_ms } else { log.step_back(now_ms, window_ms) };
    if log.oldest_ms() + window_ms <= at_ms {
        prune(log, at_ms, window_ms);
    }
    if log.total() == 0 {
        // Same as a new key: the time of the last write has no meaning.
        log.set_last_ms(0);
        at_ms = now_ms;
    }
    (limit.quota().saturating_sub(log.total()), at_ms)
}

/// Drops entries that have left the window: at least the oldest, and in a log in steady use only
/// that one.
#[inline(always)]
fn prune<E: Entries>(log: &mut E, at_ms: u64, window_ms: u64) {
    if log.newest_ms() + window_ms <= at_ms {
        return log.clear();
    }
    log.pop_oldest();
    if log.oldest_ms() + window_ms <= at_ms {
        log.drop_expired(at_ms, window_ms);
    }
}

/// Drops entries that have left the window, which the newest has not.
pub(super) fn drop_expired<E: Entries>(log: &mut E, at_ms: u64, window_ms: u64) {
    while log.oldest_ms() + window_ms <= at_ms {
        log.pop_oldest();
    }
}

/// Time at which to decide if the clock is behind the last write. Repairs the log if that clock was
/// wrong: every stamp ahead of now becomes now. Those are the newest, and become one entry.
pub(super) fn step_back<E: Entries>(log: &mut E, now_ms: u64, window_ms: u64) -> u64 {
    if let ClockReading::At(ms) = read(now_ms, log.last_ms(), window_ms) {
        return ms;
    }
    let mut count = 0;
    while log.newest_ms() > now_ms {
        count += log.pop_newest();
    }
    if count > 0 {
        // A slot for it has just become free.
        add(log, now_ms, LogEntry { stamp_ms: now_ms, count }, 0);
    }
    log.set_last_ms(now_ms);
    now_ms
}

/// Adds units at their stamp; returns the stamp, and that of the newest entry.
#[inline(always)]
pub(super) fn add<E: Entries>(log: &mut E, last_ms: u64, entry: LogEntry, most: usize) -> (u64, u64) {
    let newest_ms = log.newest_ms();
    if newest_ms >= entry.stamp_ms && log.total() != 0 {
        if newest_ms > entry.stamp_ms {
            return (log.insert(last_ms, entry, most), newest_ms);
        }
        log.merge(last_ms, entry.count);
    } else {
        log.push(last_ms, entry, most);
    }
    (entry.stamp_ms, entry.stamp_ms)
}

/// Adds units before the newest entry, which has a later stamp because its slot was longer. Returns
/// their stamp. They join the next entry if the log is full, or has as many entries as the limit
/// can need, since no memory is reserved for more; that takes entries of several resolutions.
pub(super) fn insert<E: Entries>(log: &mut E, last_ms: u64, entry: LogEntry, most: usize) -> u64 {
    let mut later = log.len() - 1;
    while later > 0 && log.get(later - 1).stamp_ms > entry.stamp_ms {
        later -= 1;
    }
    let is_full = log.len() >= MAX_ENTRIES as usize || log.len() == most;
    let same = later.checked_sub(1).filter(|before| log.get(*before).stamp_ms == entry.stamp_ms);
    if let Some(index) = same.or(is_full.then_some(later)) {
        let existing = log.get(index);
        log.set_count(index, existing.count + entry.count);
        log.set_last_ms(last_ms);
        return existing.stamp_ms;
    }
    let mut ahead = Vec::with_capacity(log.len() - later);
    while log.len() > later {
        ahead.push(LogEntry { stamp_ms: log.newest_ms(), count: log.pop_newest() });
    }
    log.push(last_ms, entry, most);
    ahead.into_iter().rev().for_each(|entry| log.push(last_ms, entry, most));
    entry.stamp_ms
}

/// Writes a cost that fits; returns its stamp, and the time until the log is empty.
#[inline(always)]
pub(super) fn record<E: Entries>(log: &mut E, limit: &Limit, attempt: Attempt, at_ms: u64) -> (u64, u64) {
    let entry = LogEntry { stamp_ms: slot_end_ms(limit, at_ms), count: attempt.cost };
    let (stamp_ms, newest_ms) = add(log, at_ms, entry, limit.max_entries());
    (stamp_ms, newest_ms + limit.window_ms() - attempt.now_ms)
}

#[inline(always)]
pub(super) fn reset_after_ms((newest_ms, total): (u64, u64), limit: &Limit, now_ms: u64) -> u64 {
    if total == 0 { 0 } else { newest_ms + limit.window_ms() - now_ms }
}

/// Wait until a cost fits that does not fit now. If one unit is too many, it leaves with the oldest
/// entry, and no other is read. Otherwise `enough_ms` returns the same as [`enough_ms`].
#[inline(always)]
pub(super) fn wait_ms(
    (oldest_ms, total): (u64, u64),
    enough_ms: impl FnOnce(u64) -> u64,
    limit: &Limit,
    attempt: Attempt,
) -> u64 {
    let requested = total + attempt.cost;
    if requested <= limit.quota() + 1 {
        return oldest_ms + limit.window_ms() - attempt.now_ms;
    }
    cold_path();
    (enough_ms(requested - limit.quota()) + limit.window_ms()).saturating_sub(attempt.now_ms)
}

/// Stamp of the entry with which enough units have left.
pub(crate) fn enough_ms(entries: impl Iterator<Item = LogEntry>, mut excess: u64) -> u64 {
    for entry in entries {
        if entry.count >= excess {
            return entry.stamp_ms;
        }
        excess -= entry.count;
    }
    0
}

/// Removes units from the oldest entries, and entries without units.
pub(super) fn give_back<E: Entries>(log: &mut E, mut units: u64, at_ms: u64) {
    if units >= log.total() {
        log.clear();
        // Same as a new key: the time of the last write has no meaning.
        return log.set_last_ms(0);
    }
    while units > 0 {
        let oldest = log.get(0).count;
        if oldest > units {
            log.set_count(0, oldest - units);
            break;
        }
        // Another entry follows: not all units are removed.
        log.pop_oldest();
        units -= oldest;
    }
    log.set_last_ms(at_ms);
}

/// Index of the entry of a receipt, and its count with the recorded cost replaced.
pub(super) fn settled<E: Entries>(log: &E, receipt: &Receipt, cost: u64) -> Option<(usize, u64)> {
    let index = find(log, receipt.stamp_ms)?;
    // All debts of a key together stay a number that is exact in a double.
    let most = receipt.cost.saturating_add(MAX_DEBT.saturating_sub(log.total()));
    Some((index, settled_count(log.get(index).count, receipt.cost, cost.min(most))))
}

/// Writes the result of [`settled`].
pub(super) fn settle<E: Entries>(log: &mut E, (index, count): (usize, u64), now_ms: u64) {
    log.set_count(index, count);
    log.set_last_ms(log.last_ms().max(now_ms));
}

/// Index of the entry with this stamp.
fn find<E: Entries>(log: &E, stamp_ms: u64) -> Option<usize> {
    let (mut low, mut high) = (0, log.len());
    while low < high {
        let middle = low.midpoint(high);
        match log.get(middle).stamp_ms {
            found if found == stamp_ms => return Some(middle),
            found if found < stamp_ms => low = middle + 1,
            _ => high = middle,
        }
    }
    None
}
