//! Who holds how much of a shard's memory.
//!
//! A group (the keys of one rule) may take more of something (slots, rows, the heap) while it holds at most [`SHARE`] times
//! what is still free of it. One group alone can fill 7/8; whatever one group does, another finds some free.

use super::row::ROW_BYTES;
use super::slot::SLOT_BYTES;
use super::table::{capacity, next_places};

const SHARE: usize = 7;

/// What a subject takes of a shard.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Footprint {
    pub(super) slots: u32,
    pub(super) rows: u32,
    pub(super) heap_bytes: u32,
}

impl Footprint {
    pub(super) const NONE: Self = Self { slots: 0, rows: 0, heap_bytes: 0 };
    pub(super) const SLOT: Self = Self { slots: 1, ..Self::NONE };
    pub(super) const ROW: Self = Self { rows: 1, ..Self::NONE };

    pub(super) fn heap(bytes: usize) -> Self {
        Self { heap_bytes: u32::try_from(bytes).unwrap_or(u32::MAX), ..Self::NONE }
    }

    pub(super) fn with_heap(self, bytes: usize) -> Self {
        Self { heap_bytes: Self::heap(bytes).heap_bytes, ..self }
    }

    /// The larger one of everything.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            slots: self.slots.max(other.slots),
            rows: self.rows.max(other.rows),
            heap_bytes: self.heap_bytes.max(other.heap_bytes),
        }
    }

    /// What is needed beyond what is held.
    pub(super) fn beyond(self, held: Self) -> Self {
        Self {
            slots: self.slots.saturating_sub(held.slots),
            rows: self.rows.saturating_sub(held.rows),
            heap_bytes: self.heap_bytes.saturating_sub(held.heap_bytes),
        }
    }
}

/// What there may be too little of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Resource {
    Slots,
    Rows,
    Heap,
}

/// What is held of everything, by one group or by all.
#[derive(Clone, Copy, Default, Debug)]
struct Usage {
    slots: usize,
    rows: usize,
    heap_bytes: usize,
}

impl Usage {
    fn change(&mut self, before: Footprint, after: Footprint) {
        self.slots = self.slots + after.slots as usize - before.slots as usize;
        self.rows = self.rows + after.rows as usize - before.rows as usize;
        self.heap_bytes = self.heap_bytes + after.heap_bytes as usize - before.heap_bytes as usize;
    }
}

#[derive(Debug)]
pub(super) struct Books {
    /// Bytes that the shard may use.
    budget: usize,
    /// Places of the tables, full or empty.
    pub(super) slot_places: usize,
    pub(super) row_places: usize,
    /// What all hold, including what is set aside for subjects that a request has taken out and will put back.
    all: Usage,
    groups: Vec<Usage>,
}

impl Books {
    pub(super) fn new(budget: usize) -> Self {
        Self { budget, slot_places: 0, row_places: 0, all: Usage::default(), groups: Vec::new() }
    }

    /// Bytes in use, empty places of the tables included.
    #[inline(always)]
    pub(super) fn bytes(&self) -> usize {
        self.slot_places * SLOT_BYTES + self.row_places * ROW_BYTES + self.all.heap_bytes
    }

    /// Slots, rows and bytes on the heap, as all groups together hold them.
    #[cfg(test)]
    pub(super) fn totals(&self) -> [usize; 3] {
        let groups = self.groups.iter().fold([0; 3], |[slots, rows, heap_bytes], group| {
            [slots + group.slots, rows + group.rows, heap_bytes + group.heap_bytes]
        });
        assert_eq!(groups, [self.all.slots, self.all.rows, self.all.heap_bytes]);
        groups
    }

    /// What a subject holds has changed.
    pub(super) fn change(&mut self, group: u8, before: Footprint, after: Footprint) {
        self.all.change(before, after);
        let index = usize::from(group);
        if index >= self.groups.len() {
            self.groups.resize(index + 1, Usage::default());
        }
        self.groups[index].change(before, after);
    }

    /// Of what there is not enough for the group to have this much more.
    pub(super) fn lacks(&self, group: u8, more: Footprint) -> Option<Resource> {
        let usage = self.usage(group);
        let has_room = |held: usize, free: usize| free > 0 && held <= SHARE * free;
        if more.slots > 0 && !has_room(usage.slots, self.max_slots().saturating_sub(self.all.slots)) {
            return Some(Resource::Slots);
        }
        if more.rows > 0 && !has_room(usage.rows, self.max_rows().saturating_sub(self.all.rows)) {
            return Some(Resource::Rows);
        }
        let free = self.budget.saturating_sub(self.bytes_with(more));
        (more.heap_bytes > 0 && !has_room(usage.heap_bytes, free)).then_some(Resource::Heap)
    }

    /// Whether some group might not have this many more bytes of the heap: then each has to be asked about.
    #[inline(always)]
    pub(super) fn is_tight(&self, more: usize) -> bool {
        self.all.heap_bytes + SHARE * (self.bytes() + more) >= SHARE * self.budget
    }

    /// Whether the group holds nothing of something.
    pub(super) fn is_without(&self, group: u8, part: Resource) -> bool {
        let usage = self.usage(group);
        0 == match part {
            Resource::Slots => usage.slots,
            Resource::Rows => usage.rows,
            Resource::Heap => usage.heap_bytes,
        }
    }

    /// Bytes in use with this much more, for which a table may have to grow.
    fn bytes_with(&self, more: Footprint) -> usize {
        let grown = |places, held| if held > capacity(places) { next_places(places) } else { places };
        grown(self.slot_places, self.all.slots + more.slots as usize) * SLOT_BYTES
            + grown(self.row_places, self.all.rows + more.rows as usize) * ROW_BYTES
            + self.all.heap_bytes
            + more.heap_bytes as usize
    }

    fn max_slots(&self) -> usize {
        self.max_items(SLOT_BYTES, self.slot_places, self.row_places * ROW_BYTES)
    }

    fn max_rows(&self) -> usize {
        self.max_items(ROW_BYTES, self.row_places, self.slot_places * SLOT_BYTES)
    }

    /// The most that a table may come to hold beside what the other one and the heap take, and a fifth that is left for
    /// them.
    fn max_items(&self, place_bytes: usize, places: usize, other_bytes: usize) -> usize {
        let left = self.budget.saturating_sub(self.all.heap_bytes + other_bytes);
        let most = left.min(self.budget / 5 * 4) / place_bytes;
        let power = if most < next_places(0) { 0 } else { 1 << most.ilog2() };
        capacity(power.max(places))
    }

    fn usage(&self, group: u8) -> Usage {
        self.groups.get(usize::from(group)).copied().unwrap_or_default()
    }
}
