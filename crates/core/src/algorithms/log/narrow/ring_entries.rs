//! Entries of a narrow log in its ring buffer.

use core::hint::cold_path;

use super::{NarrowLog, slow_path};
use crate::algorithms::log::entries::Entries;
use crate::algorithms::log::ring::{PackedEntry, wrapped};
use crate::algorithms::log::{LogEntry, LogHead};

impl NarrowLog<'_> {
    /// Removes an entry that is not the newest: those before it move up by one slot.
    fn remove(&mut self, index: usize) {
        let first = self.head.first();
        if let Some(slots) = self.ring.slots_mut() {
            let capacity = slots.len();
            let slot = |index| wrapped(first + index, capacity);
            let removed = slots[slot(index)];
            for index in (0..index).rev() {
                slots[slot(index + 1)] = slots[slot(index)];
            }
            // The removed entry goes to the front, where its count is subtracted.
            slots[first] = removed;
        }
        self.pop_oldest();
    }
}

impl Entries for NarrowLog<'_> {
    #[inline(always)]
    fn last_ms(&self) -> u64 {
        self.head.last_ms()
    }

    #[inline(always)]
    fn set_last_ms(&mut self, last_ms: u64) {
        self.head.set_last(last_ms, self.head.len());
    }

    #[inline(always)]
    fn total(&self) -> u64 {
        self.head.total()
    }

    #[inline(always)]
    fn oldest_ms(&self) -> u64 {
        self.head.oldest_ms()
    }

    #[inline(always)]
    fn newest_ms(&self) -> u64 {
        self.head.newest_ms()
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.head.len()
    }

    fn get(&self, index: usize) -> LogEntry {
        self.ring.get(self.head, index)
    }

    #[inline(always)]
    fn clear(&mut self) {
        let last_ms = self.head.last_ms();
        *self.head = LogHead::EMPTY;
        self.head.set_last(last_ms, 0);
    }

    #[inline(always)]
    fn pop_oldest(&mut self) {
        let (head, slots) = (&mut *self.head, self.ring.slots());
        let first = head.first();
        // At the end of the ring the next is at the start; otherwise one comparison checks that
        // both slots exist.
        let (oldest, next, at) = match slots.get(first..first + 2) {
            Some(&[oldest, next]) => (oldest, next, first + 1),
            _ => {
                cold_path();
                (slots[first], slots[0], 0)
            }
        };
        head.set_total(head.total() - oldest.count());
        head.set_oldest(next.stamp_ms(head.newest_ms()), at);
        head.shorten();
    }

    fn pop_newest(&mut self) -> u64 {
        let last = self.len() - 1;
        let count = self.get(last).count;
        if last == 0 {
            self.clear();
        } else {
            let before = self.get(last - 1);
            self.head.set_newest_ms(before.stamp_ms);
            self.head.set_total(self.head.total() - count);
            self.head.shorten();
        }
        count
    }

    #[inline(always)]
    fn merge(&mut self, last_ms: u64, count: u64) {
        let head = &mut *self.head;
        let newest = head.first() + head.len() - 1;
        head.set_last(last_ms, head.len());
        head.set_total(head.total() + count);
        if let Some(slots) = self.ring.slots_mut() {
            let newest = &mut slots[wrapped(newest, slots.len())];
            newest.set_count(newest.count() + count);
        }
    }

    #[inline(always)]
    fn push(&mut self, last_ms: u64, entry: LogEntry, most: usize) {
        let head = &mut *self.head;
        match self.ring.slots_mut() {
            Some(slots) if head.len() < slots.len() => {
                let slot = wrapped(head.first() + head.len(), slots.len());
                head.push(last_ms, entry);
                slots[slot] = PackedEntry::new(entry);
            }
            _ => slow_path::push(self.head, self.ring, last_ms, entry, most),
        }
    }

    fn set_count(&mut self, index: usize, count: u64) {
        let last = self.len() - 1;
        if count == 0 && index == last {
            self.pop_newest();
        } else if count == 0 {
            self.remove(index);
        } else {
            let before = self.get(index).count;
            self.head.set_total(self.head.total() - before + count);
            if let Some(slots) = self.ring.slots_mut() {
                slots[wrapped(self.head.first() + index, slots.len())].set_count(count);
            }
        }
    }

    #[inline(always)]
    fn step_back(&mut self, now_ms: u64, window_ms: u64) -> u64 {
        slow_path::step_back(self.head, self.ring, now_ms, window_ms)
    }

    #[inline(always)]
    fn drop_expired(&mut self, at_ms: u64, window_ms: u64) {
        slow_path::drop_expired(self.head, self.ring, at_ms, window_ms);
    }

    #[inline(always)]
    fn insert(&mut self, last_ms: u64, entry: LogEntry, most: usize) -> u64 {
        slow_path::insert(self.head, self.ring, last_ms, entry, most)
    }
}
