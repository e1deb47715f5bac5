//! Sliding window log: every admitted cost is remembered until it has left the window.
//!
//! A cost admitted at t is stamped with the end of its slot, so it is never forgotten early and at most
//! resolution − 1 ms late; costs of one slot share an entry, so the log has at most window / resolution + 2.

use crate::limit::Limit;
use crate::ring::Ring;
use crate::settle::{Receipt, Settled, settled_count};
use crate::state::Standing;
use crate::time::{Reading, read};

/// The history of one key under one log limit.
#[derive(Clone, Debug)]
pub struct Log {
    last_ms: u64,
    total: u64,
    ring: Ring,
}

/// Units that were admitted together, and the time at which they are taken to have come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The end of the slot in which they came.
    pub stamp_ms: u64,
    /// How many.
    pub count: u64,
}

impl Log {
    /// A history with nothing in it.
    pub const EMPTY: Self = Self { last_ms: 0, total: 0, ring: Ring::EMPTY };

    /// A history from its parts; entries out of order or without units are brought into order.
    pub fn from_entries(last_ms: u64, entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut log = Self { last_ms, ..Self::EMPTY };
        for entry in entries {
            log.add(entry, usize::MAX);
        }
        log
    }

    /// When it was last written.
    #[inline]
    pub fn last_ms(&self) -> u64 {
        self.last_ms
    }

    /// What it remembers, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.ring.iter()
    }

    /// How many entries it remembers.
    #[inline]
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether it remembers nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ring.len() == 0
    }

    /// Its only entry, where it has one and holds it without an allocation.
    #[inline]
    pub fn single(&self) -> Option<Entry> {
        match self.ring {
            Ring::One(entry) => entry,
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn heap_bytes(&self) -> usize {
        self.ring.heap_bytes()
    }

    #[inline]
    pub(crate) fn look(&mut self, limit: &Limit, now_ms: u64) -> Standing {
        let at_ms = match read(now_ms, self.last_ms, limit.window_ms()) {
            Reading::At(ms) => ms,
            Reading::Repair(ms) => self.repair(ms),
        };
        self.prune(at_ms, limit.window_ms());
        if self.total == 0 {
            // As if never seen: then the time of the last write means nothing either.
            self.last_ms = 0;
        }
        Standing {
            remaining: limit.quota().saturating_sub(self.total),
            reset_after_ms: self.reset_after_ms(limit, now_ms),
        }
    }

    #[inline]
    pub(crate) fn reset_after_ms(&self, limit: &Limit, now_ms: u64) -> u64 {
        self.ring.newest().map_or(0, |newest| newest.stamp_ms + limit.window_ms() - now_ms)
    }

    /// The release of the entry with which enough has left: not simply the oldest.
    pub(crate) fn wait_ms(&self, limit: &Limit, cost: u64, now_ms: u64) -> u64 {
        let mut excess = (self.total + cost).saturating_sub(limit.quota());
        for entry in self.ring.iter() {
            if entry.count >= excess {
                return entry.stamp_ms + limit.window_ms() - now_ms;
            }
            excess -= entry.count;
        }
        0
    }

    #[inline]
    pub(crate) fn record(&mut self, limit: &Limit, cost: u64, now_ms: u64) -> u64 {
        let at_ms = now_ms.max(self.last_ms);
        let resolution_ms = limit.resolution_ms();
        let stamp_ms = match resolution_ms {
            1 => at_ms,
            r => at_ms - at_ms % r + (r - 1),
        };
        self.last_ms = at_ms;
        self.add(Entry { stamp_ms, count: cost }, limit.max_entries() as usize)
    }

    /// Adds units at their stamp, or at the newest stamp if that is later: a slot may have been longer before.
    #[inline]
    fn add(&mut self, entry: Entry, most: usize) -> u64 {
        self.total += entry.count;
        match self.ring.newest() {
            Some(newest) if newest.stamp_ms >= entry.stamp_ms => {
                self.ring.set_count(self.ring.len() - 1, newest.count + entry.count);
                newest.stamp_ms
            }
            _ => {
                self.ring.push(entry, most);
                entry.stamp_ms
            }
        }
    }

    #[inline]
    fn prune(&mut self, at_ms: u64, window_ms: u64) {
        while let Some(oldest) = self.ring.oldest() {
            if oldest.stamp_ms + window_ms > at_ms {
                return;
            }
            if self.ring.newest().is_some_and(|newest| newest.stamp_ms + window_ms <= at_ms) {
                self.total = 0;
                return self.ring.clear();
            }
            self.total -= oldest.count;
            self.ring.drop_oldest();
        }
    }

    /// Every stamp ahead of now becomes now.
    #[cold]
    fn repair(&mut self, now_ms: u64) -> u64 {
        let back = |e: Entry| Entry { stamp_ms: e.stamp_ms.min(now_ms), ..e };
        *self = Self::from_entries(now_ms, self.ring.iter().map(back));
        now_ms
    }

    pub(crate) fn settle(&mut self, limit: &Limit, receipt: &Receipt, cost: u64, now_ms: u64) -> Settled {
        self.look(limit, now_ms);
        let Some(index) = self.find(receipt.stamp_ms) else {
            return Settled::Gone;
        };
        let before = self.ring.get(index).map_or(0, |entry| entry.count);
        let others = self.total - before;
        let count = settled_count(before, receipt.cost, cost);
        if count == 0 {
            self.ring.remove(index);
        } else {
            self.ring.set_count(index, count);
        }
        self.total = others + count;
        self.last_ms = self.last_ms.max(now_ms);
        Settled::Done
    }

    fn find(&self, stamp_ms: u64) -> Option<usize> {
        let (mut low, mut high) = (0, self.ring.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.ring.get(middle)?.stamp_ms {
                found if found == stamp_ms => return Some(middle),
                found if found < stamp_ms => low = middle + 1,
                _ => high = middle,
            }
        }
        None
    }
}
