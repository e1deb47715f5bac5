//! Head of a narrow log: its numbers, packed.

use core::fmt;

use crate::algorithms::log::LogEntry;
use crate::limit::MAX_WINDOW_MS;
use crate::time::MAX_TIME_MS;

/// Head of a narrow log: all that a denial reads.
///
/// In 26 bytes without padding, so that it goes into any 64 bytes beside a fingerprint and a
/// [`Ring`](super::Ring).
#[derive(Clone, Copy)]
#[repr(C, align(2))]
pub struct LogHead {
    /// Oldest stamp in the upper 48 bits, for one load and one shift, and the index of that entry
    /// in the ring.
    oldest_and_first: [u8; 8],
    /// Time of the last write in the upper 48 bits, and the number of entries.
    last_and_len: [u8; 8],
    newest_low: [u8; 4],
    newest_high: [u8; 2],
    total: [u8; 4],
}

const _: () = assert!(size_of::<LogHead>() == 26 && align_of::<LogHead>() == 2);

/// Maximum time of a head. Every stamp is earlier. A last write this far ahead is repaired whatever
/// the time and the window, so later ones are stored as this one.
pub(super) const MAX_STORED_MS: u64 = (1 << 48) - 1;
const _: () = assert!(MAX_STORED_MS - MAX_TIME_MS > MAX_WINDOW_MS);

impl LogHead {
    /// Empty log.
    pub const EMPTY: Self = Self {
        last_and_len: [0; 8],
        oldest_and_first: [0; 8],
        newest_low: [0; 4],
        newest_high: [0; 2],
        total: [0; 4],
    };

    /// Head of a log of one entry or none, if that is narrow enough.
    #[inline(always)]
    pub(super) fn single_of(last_ms: u64, entry: Option<LogEntry>) -> Option<Self> {
        let mut head = Self::EMPTY;
        let last_ms = last_ms.min(MAX_STORED_MS);
        head.set_last(last_ms, 0);
        if let Some(entry) = entry {
            let LogEntry { stamp_ms, count } = entry;
            if stamp_ms > MAX_TIME_MS + MAX_WINDOW_MS || count == 0 || count > u64::from(u32::MAX) {
                return None;
            }
            head.push(last_ms, entry);
        }
        Some(head)
    }

    /// Time of the last write.
    #[inline(always)]
    pub fn last_ms(&self) -> u64 {
        u64::from_le_bytes(self.last_and_len) >> 16
    }

    /// Units of all entries.
    #[inline(always)]
    pub fn total(&self) -> u64 {
        u64::from(u32::from_le_bytes(self.total))
    }

    /// Number of entries.
    #[inline(always)]
    pub fn len(&self) -> usize {
        usize::from(u64::from_le_bytes(self.last_and_len) as u16)
    }

    /// True without entries.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }

    /// Its only entry, if it has exactly one.
    #[inline(always)]
    pub fn single(&self) -> Option<LogEntry> {
        let entry = LogEntry { stamp_ms: self.newest_ms(), count: self.total() };
        if self.len() == 1 { Some(entry) } else { None }
    }

    /// Oldest stamp; 0 without entries.
    #[inline(always)]
    pub(super) fn oldest_ms(&self) -> u64 {
        u64::from_le_bytes(self.oldest_and_first) >> 16
    }

    /// Index of the oldest entry in the ring.
    #[inline(always)]
    pub(super) fn first(&self) -> usize {
        usize::from(u64::from_le_bytes(self.oldest_and_first) as u16)
    }

    /// Newest stamp; 0 without entries.
    #[inline(always)]
    pub(super) fn newest_ms(&self) -> u64 {
        let low = u64::from(u32::from_le_bytes(self.newest_low));
        low | u64::from(u16::from_le_bytes(self.newest_high)) << 32
    }

    #[inline(always)]
    pub(super) fn set_last(&mut self, last_ms: u64, len: usize) {
        self.last_and_len = (last_ms << 16 | len as u64).to_le_bytes();
    }

    #[inline(always)]
    pub(super) fn set_oldest(&mut self, oldest_ms: u64, first: usize) {
        self.oldest_and_first = (oldest_ms << 16 | first as u64).to_le_bytes();
    }

    #[inline(always)]
    pub(super) fn set_newest_ms(&mut self, newest_ms: u64) {
        self.newest_low = (newest_ms as u32).to_le_bytes();
        self.newest_high = ((newest_ms >> 32) as u16).to_le_bytes();
    }

    #[inline(always)]
    pub(super) fn set_total(&mut self, total: u64) {
        self.total = (total as u32).to_le_bytes();
    }

    /// Counts an entry newer than all others.
    #[inline(always)]
    pub(super) fn push(&mut self, last_ms: u64, entry: LogEntry) {
        if self.is_empty() {
            self.set_oldest(entry.stamp_ms, self.first());
        }
        self.set_last(last_ms, self.len() + 1);
        self.set_newest_ms(entry.stamp_ms);
        self.set_total(self.total() + entry.count);
    }

    /// One entry less, of at least one: the length is the lowest part of its word.
    #[inline(always)]
    pub(super) fn shorten(&mut self) {
        self.last_and_len = (u64::from_le_bytes(self.last_and_len) - 1).to_le_bytes();
    }
}

impl fmt::Debug for LogHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogHead")
            .field("last_ms", &self.last_ms())
            .field("oldest_ms", &self.oldest_ms())
            .field("newest_ms", &self.newest_ms())
            .field("total", &self.total())
            .field("first", &self.first())
            .field("len", &self.len())
            .finish()
    }
}
