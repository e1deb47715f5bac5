//! Wide log: counts above 65,535, or stamps 49 days and more apart.

use alloc::collections::VecDeque;

use super::entries::{self, Entries, enough_ms, grown_capacity};
use super::head::LogHead;
use super::narrow::{MAX_COUNT, MAX_LEN, SPAN_MS};
use super::ring::Ring;
use crate::algorithms::log::LogEntry;
use crate::history::{Attempt, History};
use crate::limit::Limit;

/// Wide log. Rare, and therefore simple.
#[derive(Clone, Debug)]
pub(super) struct WideLog {
    last_ms: u64,
    total: u64,
    entries: VecDeque<LogEntry>,
}

impl WideLog {
    /// Log of these entries, which are in order, with at least this capacity.
    pub(super) fn new(last_ms: u64, from: impl IntoIterator<Item = LogEntry>, capacity: usize) -> Self {
        let mut entries = VecDeque::with_capacity(capacity);
        entries.extend(from);
        Self { last_ms, total: entries.iter().map(|entry| entry.count).sum(), entries }
    }

    /// The same log in narrow form, if its counts and stamps allow that.
    pub(super) fn narrowed(&self) -> Option<(LogHead, Ring)> {
        if self.len() < 2 {
            return Some((LogHead::single_of(self.last_ms, self.iter().next())?, Ring::EMPTY));
        }
        let (oldest_ms, newest_ms) = (self.oldest_ms(), self.newest_ms());
        let fits = self.iter().all(|entry| entry.count <= MAX_COUNT)
            && newest_ms - oldest_ms < SPAN_MS
            && self.total <= u64::from(u32::MAX)
            && self.len() <= MAX_LEN;
        let mut head = LogHead::EMPTY;
        head.set_last(self.last_ms, self.len());
        head.set_oldest(oldest_ms, 0);
        head.set_newest_ms(newest_ms);
        head.set_total(self.total);
        fits.then(|| (head, Ring::exact(self.iter())))
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = LogEntry> + '_ {
        self.entries.iter().copied()
    }

    pub(super) fn is_full(&self) -> bool {
        self.entries.len() == self.entries.capacity()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.entries.capacity() * size_of::<LogEntry>()
    }
}

impl History for WideLog {
    /// Time at which to decide.
    type View = u64;

    fn peek(&mut self, limit: &Limit, now_ms: u64) -> (u64, u64) {
        entries::peek(self, limit, now_ms)
    }

    fn view(&self, _: &Limit, now_ms: u64) -> u64 {
        self.last_ms.max(now_ms)
    }

    fn reset_after_ms(&self, limit: &Limit, now_ms: u64, _: u64) -> u64 {
        entries::reset_after_ms((self.newest_ms(), self.total), limit, now_ms)
    }

    fn wait_ms(&self, limit: &Limit, attempt: Attempt, _: u64) -> u64 {
        entries::wait_ms(
            (self.oldest_ms(), self.total),
            |excess| enough_ms(self.iter(), excess),
            limit,
            attempt,
        )
    }

    fn record(&mut self, limit: &Limit, attempt: Attempt, at_ms: u64) -> (u64, u64) {
        entries::record(self, limit, attempt, at_ms)
    }

    fn give_back(&mut self, _: &Limit, attempt: Attempt, at_ms: u64) {
        entries::give_back(self, attempt.cost, at_ms);
    }
}

impl Entries for WideLog {
    fn last_ms(&self) -> u64 {
        self.last_ms
    }

    fn set_last_ms(&mut self, last_ms: u64) {
        self.last_ms = last_ms;
    }

    fn total(&self) -> u64 {
        self.total
    }

    fn oldest_ms(&self) -> u64 {
        self.entries.front().map_or(0, |entry| entry.stamp_ms)
    }

    fn newest_ms(&self) -> u64 {
        self.entries.back().map_or(0, |entry| entry.stamp_ms)
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn get(&self, index: usize) -> LogEntry {
        self.entries[index]
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.total = 0;
    }

    fn pop_oldest(&mut self) {
        self.total -= self.entries.pop_front().map_or(0, |entry| entry.count);
    }

    fn pop_newest(&mut self) -> u64 {
        let count = self.entries.pop_back().map_or(0, |entry| entry.count);
        self.total -= count;
        count
    }

    fn merge(&mut self, last_ms: u64, count: u64) {
        self.last_ms = last_ms;
        if let Some(newest) = self.entries.back_mut() {
            newest.count += count;
            self.total += count;
        }
    }

    fn push(&mut self, last_ms: u64, entry: LogEntry, most: usize) {
        self.last_ms = last_ms;
        let len = self.entries.len();
        if len == self.entries.capacity() {
            self.entries.reserve_exact(grown_capacity(len, most) - len);
        }
        self.entries.push_back(entry);
        self.total += entry.count;
    }

    fn set_count(&mut self, index: usize, count: u64) {
        self.total = self.total - self.entries[index].count + count;
        self.entries[index].count = count;
        if count == 0 {
            self.entries.remove(index);
        }
    }

    fn step_back(&mut self, now_ms: u64, window_ms: u64) -> u64 {
        entries::step_back(self, now_ms, window_ms)
    }

    fn drop_expired(&mut self, at_ms: u64, window_ms: u64) {
        entries::drop_expired(self, at_ms, window_ms);
    }

    fn insert(&mut self, last_ms: u64, entry: LogEntry, most: usize) -> u64 {
        entries::insert(self, last_ms, entry, most)
    }
}
