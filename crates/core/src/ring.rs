//! Where a log keeps the entries between its oldest and its newest: 6 bytes each, or 16 where that is too small.

use alloc::collections::VecDeque;

use crate::log::Entry;

/// Entries in the order of their stamps, oldest first.
#[derive(Clone, Debug)]
pub(crate) enum Ring {
    /// Stamps as 32-bit offsets from a base, counts of 16 bits.
    Narrow { base_ms: u64, entries: VecDeque<Packed> },
    /// For counts above 65,535, and stamps more than 49 days apart.
    Wide(VecDeque<Entry>),
}

/// The largest count that a narrow entry holds.
pub(crate) const MAX_NARROW: u64 = u16::MAX as u64;

/// An offset in two halves and a count: three u16 take 6 bytes where (u32, u16) would take 8.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed([u16; 3]);

impl Packed {
    #[inline(always)]
    fn new(base_ms: u64, entry: Entry) -> Option<Self> {
        let offset = u32::try_from(entry.stamp_ms.checked_sub(base_ms)?).ok()?;
        let count = u16::try_from(entry.count).ok()?;
        Some(Self([offset as u16, (offset >> 16) as u16, count]))
    }

    #[inline(always)]
    fn unpack(self, base_ms: u64) -> Entry {
        let [low, high, count] = self.0;
        let offset = u64::from(low) | u64::from(high) << 16;
        Entry { stamp_ms: base_ms + offset, count: u64::from(count) }
    }
}

impl Ring {
    pub(crate) const EMPTY: Self = Self::Narrow { base_ms: 0, entries: VecDeque::new() };

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Narrow { entries, .. } => entries.len(),
            Self::Wide(entries) => entries.len(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Entry> {
        match self {
            Self::Narrow { base_ms, entries } => entries.get(index).map(|e| e.unpack(*base_ms)),
            Self::Wide(entries) => entries.get(index).copied(),
        }
    }

    #[inline(always)]
    pub(crate) fn pop_oldest(&mut self) -> Option<Entry> {
        match self {
            Self::Narrow { base_ms, entries } => entries.pop_front().map(|e| e.unpack(*base_ms)),
            Self::Wide(entries) => entries.pop_front(),
        }
    }

    pub(crate) fn remove(&mut self, index: usize) -> Option<Entry> {
        match self {
            Self::Narrow { base_ms, entries } => entries.remove(index).map(|e| e.unpack(*base_ms)),
            Self::Wide(entries) => entries.remove(index),
        }
    }

    pub(crate) fn clear(&mut self) {
        match self {
            Self::Narrow { entries, .. } => entries.clear(),
            Self::Wide(entries) => entries.clear(),
        }
    }

    /// Adds an entry newer than all others. `most` is what the ring will ever hold, so that it never grows past it.
    #[inline(always)]
    pub(crate) fn push(&mut self, entry: Entry, most: usize) {
        match self {
            Self::Narrow { base_ms, entries } => {
                if entries.is_empty() {
                    *base_ms = entry.stamp_ms;
                }
                if let Some(packed) = Packed::new(*base_ms, entry) {
                    grow(entries, most);
                    return entries.push_back(packed);
                }
            }
            Self::Wide(entries) => {
                grow(entries, most);
                return entries.push_back(entry);
            }
        }
        self.rebuild(Some(entry));
    }

    /// Sets the count of the entry at `index`, which exists.
    pub(crate) fn set_count(&mut self, index: usize, count: u64) {
        if let (Self::Narrow { entries, .. }, Ok(count)) = (&mut *self, u16::try_from(count)) {
            entries[index].0[2] = count;
            return;
        }
        if let Self::Narrow { .. } = self {
            *self = Self::Wide(self.iter().collect());
        }
        if let Self::Wide(entries) = self {
            entries[index].count = count;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Whether another entry would take memory.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        match self {
            Self::Narrow { entries, .. } => entries.len() == entries.capacity(),
            Self::Wide(entries) => entries.len() == entries.capacity(),
        }
    }

    /// Bytes on the heap.
    #[inline(always)]
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::Narrow { entries, .. } => entries.capacity() * size_of::<Packed>(),
            Self::Wide(entries) => entries.capacity() * size_of::<Entry>(),
        }
    }

    /// Lays the entries out anew from the oldest stamp on, with `last` behind them: when 49 days have passed since the
    /// base, or when a count no longer fits.
    #[cold]
    #[inline(never)]
    fn rebuild(&mut self, last: Option<Entry>) {
        let base_ms = self.get(0).or(last).map_or(0, |entry| entry.stamp_ms);
        let narrow: Option<_> = self.iter().chain(last).map(|entry| Packed::new(base_ms, entry)).collect();
        *self = match narrow {
            Some(entries) => Self::Narrow { base_ms, entries },
            None => Self::Wide(self.iter().chain(last).collect()),
        };
    }
}

/// Doubles a full ring, but not beyond what the limit can ever need.
#[inline(always)]
fn grow<T>(entries: &mut VecDeque<T>, most: usize) {
    if entries.len() == entries.capacity() {
        double(entries, most);
    }
}

#[cold]
#[inline(never)]
fn double<T>(entries: &mut VecDeque<T>, most: usize) {
    let held = entries.len();
    let wanted = (held * 2).max(4).min(most).max(held + 1);
    entries.reserve_exact(wanted - held);
}
