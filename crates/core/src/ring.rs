//! Where a log keeps its entries: one inline, then a ring of 6 bytes an entry, or of 16 where that is too small.

use alloc::collections::VecDeque;

use crate::log::Entry;

/// Entries in the order of their stamps, oldest first.
#[derive(Clone, Debug)]
pub(crate) enum Ring {
    /// No entry, or one: most keys of a long tail never need more, and it takes no allocation.
    One(Option<Entry>),
    /// Stamps as 32-bit offsets from a base, counts of 16 bits.
    Narrow { base_ms: u64, entries: VecDeque<Packed> },
    /// For counts above 65,535, and stamps more than 49 days apart.
    Wide(VecDeque<Entry>),
}

/// An offset in two halves and a count: three u16 take 6 bytes where (u32, u16) would take 8.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed([u16; 3]);

impl Packed {
    #[inline]
    fn new(base_ms: u64, entry: Entry) -> Option<Self> {
        let offset = u32::try_from(entry.stamp_ms.checked_sub(base_ms)?).ok()?;
        let count = u16::try_from(entry.count).ok()?;
        Some(Self([offset as u16, (offset >> 16) as u16, count]))
    }

    #[inline]
    fn unpack(self, base_ms: u64) -> Entry {
        let [low, high, count] = self.0;
        let offset = u64::from(low) | u64::from(high) << 16;
        Entry { stamp_ms: base_ms + offset, count: u64::from(count) }
    }
}

impl Ring {
    pub(crate) const EMPTY: Self = Self::One(None);

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::One(entry) => usize::from(entry.is_some()),
            Self::Narrow { entries, .. } => entries.len(),
            Self::Wide(entries) => entries.len(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<Entry> {
        match self {
            Self::One(entry) => entry.filter(|_| index == 0),
            Self::Narrow { base_ms, entries } => entries.get(index).map(|e| e.unpack(*base_ms)),
            Self::Wide(entries) => entries.get(index).copied(),
        }
    }

    #[inline]
    pub(crate) fn oldest(&self) -> Option<Entry> {
        self.get(0)
    }

    #[inline]
    pub(crate) fn newest(&self) -> Option<Entry> {
        self.get(self.len().wrapping_sub(1))
    }

    #[inline]
    pub(crate) fn drop_oldest(&mut self) {
        match self {
            Self::One(entry) => *entry = None,
            Self::Narrow { entries, .. } => drop(entries.pop_front()),
            Self::Wide(entries) => drop(entries.pop_front()),
        }
    }

    pub(crate) fn clear(&mut self) {
        match self {
            Self::One(entry) => *entry = None,
            Self::Narrow { entries, .. } => entries.clear(),
            Self::Wide(entries) => entries.clear(),
        }
    }

    /// Adds an entry newer than all others. `most` is what the ring will ever hold, so that it never grows past it.
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry, most: usize) {
        match self {
            Self::One(slot @ None) => return *slot = Some(entry),
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
            Self::One(Some(_)) => {}
        }
        self.rebuild(Some(entry), most);
    }

    /// Sets the count of the entry at `index`, which exists.
    #[inline]
    pub(crate) fn set_count(&mut self, index: usize, count: u64) {
        match self {
            Self::One(Some(entry)) => entry.count = count,
            Self::Narrow { entries, .. } => match (entries.get_mut(index), u16::try_from(count)) {
                (Some(entry), Ok(count)) => entry.0[2] = count,
                _ => {
                    self.widen();
                    self.set_count(index, count);
                }
            },
            Self::Wide(entries) => {
                if let Some(entry) = entries.get_mut(index) {
                    entry.count = count;
                }
            }
            Self::One(None) => {}
        }
    }

    pub(crate) fn remove(&mut self, index: usize) {
        match self {
            Self::One(entry) => *entry = None,
            Self::Narrow { entries, .. } => drop(entries.remove(index)),
            Self::Wide(entries) => drop(entries.remove(index)),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Bytes on the heap.
    #[inline]
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Narrow { entries, .. } => entries.capacity() * size_of::<Packed>(),
            Self::Wide(entries) => entries.capacity() * size_of::<Entry>(),
        }
    }

    /// Lays the entries out anew from the oldest stamp on, with `last` behind them: when the inline place is taken,
    /// when 49 days have passed since the base, or when a count no longer fits.
    #[cold]
    fn rebuild(&mut self, last: Option<Entry>, most: usize) {
        let base_ms = self.oldest().or(last).map_or(0, |entry| entry.stamp_ms);
        let all = self.iter().chain(last);
        let narrow: Option<VecDeque<Packed>> = all.map(|entry| Packed::new(base_ms, entry)).collect();
        match narrow {
            Some(mut entries) => {
                entries.reserve_exact(first_capacity(most).saturating_sub(entries.len()));
                *self = Self::Narrow { base_ms, entries };
            }
            None => *self = Self::Wide(self.iter().chain(last).collect()),
        }
    }

    #[cold]
    fn widen(&mut self) {
        *self = Self::Wide(self.iter().collect());
    }
}

fn first_capacity(most: usize) -> usize {
    most.min(4)
}

/// Doubles a full ring, but not beyond what the limit can ever need.
#[inline]
fn grow<T>(entries: &mut VecDeque<T>, most: usize) {
    let held = entries.len();
    if held == entries.capacity() {
        let wanted = (held * 2).min(most).max(held + 1);
        entries.reserve_exact(wanted - held);
    }
}
