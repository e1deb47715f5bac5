//! Sliding window log: every admitted cost is remembered until it has left the window.
//!
//! A cost admitted at t is stamped with the end of its slot, so it is never forgotten early and at most
//! resolution − 1 ms late; costs of one slot share an entry, so the log has at most
//! ⌈window / resolution⌉ + 2.

use crate::history::{Attempt, History};
use crate::limit::{Limit, MAX_WINDOW_MS};
use crate::ring::{MAX_NARROW, Ring};
use crate::settle::{MAX_DEBT, Receipt, Settled, settled_count};
use crate::time::{MAX_TIME_MS, Reading, read};

/// The history of one key under one log limit.
///
/// Its oldest and its newest entry stand beside the totals: to refuse, and to add to the newest slot, nothing else is
/// read. A log of up to two entries needs no allocation.
#[derive(Clone, Debug)]
pub struct Log {
    last_ms: u64,
    total: u64,
    /// The first to leave, unless that is the newest: then its count is 0.
    oldest: Entry,
    /// The last to leave; its count is 0 in an empty log.
    newest: Entry,
    between: Ring,
}

/// Units that were admitted together, and the time at which they are taken to have come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The end of the slot in which they came.
    pub stamp_ms: u64,
    /// How many.
    pub count: u64,
}

impl Entry {
    const NONE: Self = Self { stamp_ms: 0, count: 0 };

    #[inline(always)]
    fn is_none(self) -> bool {
        self.count == 0
    }

    #[inline(always)]
    fn some(self) -> Option<Self> {
        if self.is_none() { None } else { Some(self) }
    }
}

impl Log {
    /// A history with nothing in it.
    pub const EMPTY: Self =
        Self { last_ms: 0, total: 0, oldest: Entry::NONE, newest: Entry::NONE, between: Ring::EMPTY };

    /// A history from its parts; entries out of order or without units are brought into order.
    pub fn from_entries(last_ms: u64, entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut log = Self { last_ms, ..Self::EMPTY };
        for entry in entries {
            let stamp_ms = entry.stamp_ms.min(MAX_TIME_MS + MAX_WINDOW_MS);
            let count = entry.count.min(MAX_DEBT - log.total);
            if count > 0 {
                log.add(Entry { stamp_ms, count }, usize::MAX);
            }
        }
        log
    }

    /// A history of one entry or none.
    #[inline(always)]
    pub fn from_entry(last_ms: u64, entry: Option<Entry>) -> Self {
        let newest = entry.unwrap_or(Entry::NONE);
        Self { last_ms, total: newest.count, newest, ..Self::EMPTY }
    }

    /// When it was last written.
    #[inline(always)]
    pub fn last_ms(&self) -> u64 {
        self.last_ms
    }

    /// What it remembers, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.oldest.some().into_iter().chain(self.between.iter()).chain(self.newest.some())
    }

    /// How many entries it remembers.
    #[inline(always)]
    pub fn len(&self) -> usize {
        usize::from(!self.oldest.is_none()) + self.between.len() + usize::from(!self.newest.is_none())
    }

    /// Whether it remembers nothing.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.newest.is_none()
    }

    /// Its only entry, where it has just one.
    #[inline(always)]
    pub fn single(&self) -> Option<Entry> {
        if self.oldest.is_none() { self.newest.some() } else { None }
    }

    /// Whether another entry may take memory: for want of a place, or because counts outgrow theirs.
    #[inline(always)]
    pub(crate) fn may_grow(&self, limit: &Limit) -> bool {
        limit.quota() > MAX_NARROW || self.between.is_full() && self.len() < limit.max_entries()
    }

    #[inline(always)]
    pub(crate) fn heap_bytes(&self) -> usize {
        self.between.heap_bytes()
    }

    #[inline(always)]
    fn first(&self) -> Entry {
        if self.oldest.is_none() { self.newest } else { self.oldest }
    }

    /// Adds units at their stamp, or at the newest stamp if that is later: a slot may have been longer before.
    #[inline(always)]
    fn add(&mut self, entry: Entry, most: usize) -> u64 {
        self.total += entry.count;
        if !self.newest.is_none() && self.newest.stamp_ms >= entry.stamp_ms {
            self.newest.count += entry.count;
            return self.newest.stamp_ms;
        }
        if self.oldest.is_none() {
            self.oldest = self.newest;
        } else {
            self.between.push(self.newest, most.saturating_sub(2));
        }
        self.newest = entry;
        entry.stamp_ms
    }

    #[inline(always)]
    fn prune(&mut self, at_ms: u64, window_ms: u64) {
        if self.first().stamp_ms + window_ms <= at_ms {
            self.drop_expired(at_ms, window_ms);
        }
    }

    fn drop_expired(&mut self, at_ms: u64, window_ms: u64) {
        if self.newest.stamp_ms + window_ms <= at_ms {
            self.between.clear();
            (self.total, self.oldest, self.newest) = (0, Entry::NONE, Entry::NONE);
            return;
        }
        while !self.oldest.is_none() && self.oldest.stamp_ms + window_ms <= at_ms {
            self.total -= self.oldest.count;
            self.oldest = self.between.pop_oldest().unwrap_or(Entry::NONE);
        }
    }

    /// Every stamp ahead of now becomes now.
    #[cold]
    #[inline(never)]
    fn repair(&mut self, now_ms: u64) -> u64 {
        let back = |e: Entry| Entry { stamp_ms: e.stamp_ms.min(now_ms), ..e };
        *self = Self::from_entries(now_ms, self.entries().map(back));
        now_ms
    }

    pub(crate) fn settle(&mut self, limit: &Limit, receipt: &Receipt, cost: u64, now_ms: u64) -> Settled {
        self.look(limit, now_ms);
        // All debts of a key together stay a number that is exact in a double.
        let most = receipt.cost.saturating_add(MAX_DEBT.saturating_sub(self.total));
        let settled = |count| settled_count(count, receipt.cost, cost.min(most));
        let Some((before, after)) = self.replace(receipt.stamp_ms, settled) else {
            return Settled::Gone;
        };
        self.total = self.total - before + after;
        self.last_ms = self.last_ms.max(now_ms);
        Settled::Done
    }

    /// Replaces the count of the entry with this stamp; gives both counts. An entry without units goes.
    fn replace(&mut self, stamp_ms: u64, new: impl Fn(u64) -> u64) -> Option<(u64, u64)> {
        if !self.newest.is_none() && self.newest.stamp_ms == stamp_ms {
            let before = self.newest.count;
            self.newest.count = new(before);
            if self.newest.is_none() {
                let last = self.between.len().checked_sub(1).and_then(|index| self.between.remove(index));
                self.newest = last.unwrap_or_else(|| core::mem::replace(&mut self.oldest, Entry::NONE));
                return Some((before, 0));
            }
            return Some((before, self.newest.count));
        }
        if !self.oldest.is_none() && self.oldest.stamp_ms == stamp_ms {
            let before = self.oldest.count;
            self.oldest.count = new(before);
            let after = self.oldest.count;
            if after == 0 {
                self.oldest = self.between.pop_oldest().unwrap_or(Entry::NONE);
            }
            return Some((before, after));
        }
        let index = self.find_between(stamp_ms)?;
        let before = self.between.get(index)?.count;
        match new(before) {
            0 => drop(self.between.remove(index)),
            after => self.between.set_count(index, after),
        }
        Some((before, new(before)))
    }

    fn find_between(&self, stamp_ms: u64) -> Option<usize> {
        let (mut low, mut high) = (0, self.between.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.between.get(middle)?.stamp_ms {
                found if found == stamp_ms => return Some(middle),
                found if found < stamp_ms => low = middle + 1,
                _ => high = middle,
            }
        }
        None
    }

    /// The release of the entry with which enough has left: not simply the oldest.
    #[cold]
    #[inline(never)]
    fn release_ms(&self, window_ms: u64, mut excess: u64) -> u64 {
        for entry in self.entries() {
            if entry.count >= excess {
                return entry.stamp_ms + window_ms;
            }
            excess -= entry.count;
        }
        0
    }
}

impl History for Log {
    type View = ();

    #[inline(always)]
    fn look(&mut self, limit: &Limit, now_ms: u64) -> (u64, ()) {
        let at_ms = match read(now_ms, self.last_ms, limit.window_ms()) {
            Reading::At(ms) => ms,
            Reading::Repair(ms) => self.repair(ms),
        };
        self.prune(at_ms, limit.window_ms());
        if self.total == 0 {
            // As if never seen: then the time of the last write means nothing either.
            self.last_ms = 0;
        }
        (limit.quota().saturating_sub(self.total), ())
    }

    #[inline(always)]
    fn reset_after_ms(&self, limit: &Limit, now_ms: u64, (): ()) -> u64 {
        if self.is_empty() { 0 } else { self.newest.stamp_ms + limit.window_ms() - now_ms }
    }

    #[inline(always)]
    fn wait_ms(&self, limit: &Limit, attempt: Attempt, (): ()) -> u64 {
        let excess = (self.total + attempt.cost).saturating_sub(limit.quota());
        let first = self.first();
        let release_ms = if first.count >= excess {
            first.stamp_ms + limit.window_ms()
        } else {
            self.release_ms(limit.window_ms(), excess)
        };
        release_ms.saturating_sub(attempt.now_ms)
    }

    #[inline(always)]
    fn record(&mut self, limit: &Limit, attempt: Attempt, (): ()) -> (u64, u64) {
        let at_ms = attempt.now_ms.max(self.last_ms);
        let slot_end_ms = match limit.resolution_ms() {
            1 => at_ms,
            r => at_ms - at_ms % r + (r - 1),
        };
        self.last_ms = at_ms;
        let entry = Entry { stamp_ms: slot_end_ms, count: attempt.cost };
        let stamp_ms = self.add(entry, limit.max_entries());
        (stamp_ms, stamp_ms + limit.window_ms() - attempt.now_ms)
    }
}
