//! Who holds how much of a shard's memory.
//!
//! A group (the keys of one rule) may take new memory while it holds at most [`SHARE`] times what is still free. One group
//! alone can fill 7/8 of a shard; whatever one group does, another finds free memory.

use super::slot::Slot;
use super::table::capacity;

const SHARE: usize = 7;

/// A place of the table, full or empty.
pub(super) const SLOT_BYTES: usize = size_of::<Option<Slot>>();

#[derive(Debug)]
pub(super) struct Books {
    /// Bytes that the shard may use.
    pub(super) budget: usize,
    /// Places of the table, full or empty.
    pub(super) places: u32,
    /// Slots in use, those included that a request has taken out and will put back.
    slots: u32,
    heap_bytes: usize,
    groups: Vec<Usage>,
}

/// What one group holds.
#[derive(Clone, Copy, Default, Debug)]
struct Usage {
    slots: usize,
    heap_bytes: usize,
}

impl Books {
    pub(super) fn new(budget: usize) -> Self {
        Self { budget, places: 0, slots: 0, heap_bytes: 0, groups: Vec::new() }
    }

    /// Bytes in use, empty places of the table included.
    #[inline(always)]
    pub(super) fn bytes(&self) -> usize {
        self.places as usize * SLOT_BYTES + self.heap_bytes
    }

    pub(super) fn add_slot(&mut self, group: u8) {
        self.slots += 1;
        self.usage_mut(group).slots += 1;
    }

    pub(super) fn remove_slot(&mut self, group: u8) {
        self.slots -= 1;
        self.usage_mut(group).slots -= 1;
    }

    /// A subject's bytes on the heap have changed.
    pub(super) fn move_heap(&mut self, group: u8, before: usize, after: usize) {
        self.heap_bytes = self.heap_bytes + after - before;
        let usage = self.usage_mut(group);
        usage.heap_bytes = usage.heap_bytes + after - before;
    }

    /// Whether the group may have another slot.
    pub(super) fn has_slot_room(&self, group: u8) -> bool {
        let free = self.max_slots().saturating_sub(self.slots as usize);
        free > 0 && self.usage(group).slots <= SHARE * free
    }

    /// Whether the group may have this many more bytes of the heap.
    #[inline(always)]
    pub(super) fn has_heap_room(&self, group: u8, more: usize) -> bool {
        let free = self.budget.saturating_sub(self.bytes() + more);
        free > 0 && self.usage(group).heap_bytes <= SHARE * free
    }

    /// Whether some group might not have this many more bytes of the heap: then each has to be asked about.
    #[inline(always)]
    pub(super) fn is_tight(&self, more: usize) -> bool {
        self.heap_bytes + SHARE * (self.bytes() + more) >= SHARE * self.budget
    }

    /// Whether the group holds nothing at all.
    pub(super) fn is_new(&self, group: u8) -> bool {
        self.usage(group).slots == 0
    }

    /// The most slots that the table may come to have, beside what the heap takes, and a fifth that is left for it.
    fn max_slots(&self) -> usize {
        let places = self.budget.saturating_sub(self.heap_bytes).min(self.budget / 5 * 4) / SLOT_BYTES;
        let power = if places == 0 { 0 } else { 1 << places.ilog2() };
        capacity(power.max(self.places as usize))
    }

    #[inline(always)]
    fn usage(&self, group: u8) -> Usage {
        self.groups.get(usize::from(group)).copied().unwrap_or_default()
    }

    fn usage_mut(&mut self, group: u8) -> &mut Usage {
        let index = usize::from(group);
        if index >= self.groups.len() {
            self.groups.resize(index + 1, Usage::default());
        }
        &mut self.groups[index]
    }
}
