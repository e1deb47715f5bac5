//! Ring buffer of a narrow log's entries, 6 bytes each.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::entries::grown_capacity;
use super::head::LogHead;
use crate::algorithms::log::LogEntry;

/// Ring buffer of the entries of a narrow log. A log of one entry needs none: its [`LogHead`]
/// contains it.
///
/// Its [`LogHead`] says which slots are in use. A ring without slots is `None`, which can be a
/// constant.
#[derive(Clone, Debug)]
pub struct Ring(Option<Box<[PackedEntry]>>);

const _: () = assert!(size_of::<Ring>() == 16);

/// Entry: the lower half of a stamp, and a count. The upper half follows from the newest stamp: all
/// stamps of a narrow log are less than 2^32 ms apart.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct PackedEntry {
    stamp: [u8; 4],
    count: [u8; 2],
}

const _: () = assert!(size_of::<PackedEntry>() == 6);

impl PackedEntry {
    const NONE: Self = Self { stamp: [0; 4], count: [0; 2] };

    #[inline(always)]
    pub(super) fn new(entry: LogEntry) -> Self {
        debug_assert!(entry.count <= u64::from(u16::MAX), "{entry:?} is not narrow");
        Self { stamp: (entry.stamp_ms as u32).to_le_bytes(), count: (entry.count as u16).to_le_bytes() }
    }

    #[inline(always)]
    pub(super) fn count(self) -> u64 {
        u64::from(u16::from_le_bytes(self.count))
    }

    #[inline(always)]
    pub(super) fn set_count(&mut self, count: u64) {
        debug_assert!(count <= u64::from(u16::MAX), "{count} is not narrow");
        self.count = (count as u16).to_le_bytes();
    }

    /// Whole stamp.
    #[inline(always)]
    pub(super) fn stamp_ms(self, newest_ms: u64) -> u64 {
        newest_ms - u64::from((newest_ms as u32).wrapping_sub(u32::from_le_bytes(self.stamp)))
    }
}

impl Ring {
    /// Ring without slots.
    pub const EMPTY: Self = Self(None);

    /// Ring with these entries and no free slot.
    pub(super) fn exact(entries: impl Iterator<Item = LogEntry>) -> Self {
        Self(Some(entries.map(PackedEntry::new).collect()))
    }

    #[inline(always)]
    pub(super) fn slots(&self) -> &[PackedEntry] {
        self.0.as_deref().unwrap_or(&[])
    }

    /// Slots, if there are any.
    #[inline(always)]
    pub(super) fn slots_mut(&mut self) -> Option<&mut [PackedEntry]> {
        self.0.as_deref_mut()
    }

    /// Number of slots.
    #[inline(always)]
    pub fn capacity(&self) -> usize {
        self.slots().len()
    }

    /// Bytes on the heap.
    #[inline(always)]
    pub fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<PackedEntry>()
    }

    /// True if no slot is free. The first entry of all needs none.
    #[inline(always)]
    pub(super) fn is_full_for(&self, head: &LogHead) -> bool {
        head.len() >= self.capacity()
    }

    /// Entry at this index, which is in use, counted from the oldest.
    pub(super) fn get(&self, head: &LogHead, index: usize) -> LogEntry {
        let slots = self.slots();
        if slots.is_empty() {
            return LogEntry { stamp_ms: head.newest_ms(), count: head.total() };
        }
        let packed = slots[wrapped(head.first() + index, slots.len())];
        LogEntry { stamp_ms: packed.stamp_ms(head.newest_ms()), count: packed.count() }
    }

    /// Entries, oldest first.
    pub(super) fn iter<'a>(&'a self, head: &'a LogHead) -> impl Iterator<Item = LogEntry> + 'a {
        (0..head.len()).map(|index| self.get(head, index))
    }

    /// Adds slots: all are in use.
    pub(super) fn grow(&mut self, head: &LogHead, most: usize) {
        let capacity = grown_capacity(head.len(), most);
        let mut grown = Vec::with_capacity(capacity);
        grown.extend(self.iter(head).map(PackedEntry::new));
        grown.resize(capacity, PackedEntry::NONE);
        self.0 = Some(grown.into_boxed_slice());
    }
}

/// Index in a ring of `capacity` slots, from one below twice that: without a division.
#[inline(always)]
pub(super) fn wrapped(index: usize, capacity: usize) -> usize {
    let (wrapped, is_within) = index.overflowing_sub(capacity);
    if is_within { index } else { wrapped }
}
