//! Memory budget of a shard, shared fairly between groups.
//!
//! A group (the keys of one rule) may take more of a resource (slots, rows, the heap) while it uses
//! at most [`SHARE`] times what is free. A single group can fill 7/8; another always finds some
//! free.

use super::row::ROW_BYTES;
use super::slot::SLOT_BYTES;
use super::table::{capacity, next_buckets};

const SHARE: usize = 7;

/// Footprint of a subject: what it uses of its shard.
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

    /// Maximum of both, by resource.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            slots: self.slots.max(other.slots),
            rows: self.rows.max(other.rows),
            heap_bytes: self.heap_bytes.max(other.heap_bytes),
        }
    }

    /// Difference to the current footprint, by resource; none where it is smaller.
    pub(super) fn beyond(self, current: Self) -> Self {
        Self {
            slots: self.slots.saturating_sub(current.slots),
            rows: self.rows.saturating_sub(current.rows),
            heap_bytes: self.heap_bytes.saturating_sub(current.heap_bytes),
        }
    }
}

/// Resource of a shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ShardResource {
    Slots,
    Rows,
    Heap,
}

/// Usage by one group or by all.
#[derive(Clone, Copy, Default, Debug)]
struct ResourceUsage {
    slots: usize,
    rows: usize,
    heap_bytes: usize,
}

impl ResourceUsage {
    fn change(&mut self, before: Footprint, after: Footprint) {
        self.slots = self.slots + after.slots as usize - before.slots as usize;
        self.rows = self.rows + after.rows as usize - before.rows as usize;
        self.heap_bytes = self.heap_bytes + after.heap_bytes as usize - before.heap_bytes as usize;
    }
}

/// Memory budget of a shard.
#[derive(Debug)]
pub(super) struct Budget {
    /// Bytes that the shard may use.
    max_bytes: usize,
    /// Buckets of the tables, full or empty.
    pub(super) slot_buckets: usize,
    pub(super) row_buckets: usize,
    /// Total usage, including memory reserved for subjects that a request has taken out.
    all: ResourceUsage,
    groups: Vec<ResourceUsage>,
}

impl Budget {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, slot_buckets: 0, row_buckets: 0, all: ResourceUsage::default(), groups: Vec::new() }
    }

    /// Bytes in use, including empty buckets.
    #[inline(always)]
    pub(super) fn bytes(&self) -> usize {
        self.slot_buckets * SLOT_BYTES + self.row_buckets * ROW_BYTES + self.all.heap_bytes
    }

    /// Slots, rows and bytes on the heap of all groups together.
    #[cfg(test)]
    pub(super) fn totals(&self) -> [usize; 3] {
        let groups = self.groups.iter().fold([0; 3], |[slots, rows, heap_bytes], group| {
            [slots + group.slots, rows + group.rows, heap_bytes + group.heap_bytes]
        });
        assert_eq!(groups, [self.all.slots, self.all.rows, self.all.heap_bytes]);
        groups
    }

    /// Records a change of a subject's footprint.
    pub(super) fn change(&mut self, group: u8, before: Footprint, after: Footprint) {
        self.all.change(before, after);
        let index = usize::from(group);
        if index >= self.groups.len() {
            self.groups.resize(index + 1, ResourceUsage::default());
        }
        self.groups[index].change(before, after);
    }

    /// Resource that is too scarce for the group to take this much more, if any.
    pub(super) fn shortage(&self, group: u8, more: Footprint) -> Option<ShardResource> {
        let usage = self.usage(group);
        let suffices = |in_use: usize, free: usize| free > 0 && in_use <= SHARE * free;
        if more.slots > 0 && !suffices(usage.slots, self.max_slots().saturating_sub(self.all.slots)) {
            return Some(ShardResource::Slots);
        }
        if more.rows > 0 && !suffices(usage.rows, self.max_rows().saturating_sub(self.all.rows)) {
            return Some(ShardResource::Rows);
        }
        let free = self.max_bytes.saturating_sub(self.bytes_with(more));
        (more.heap_bytes > 0 && !suffices(usage.heap_bytes, free)).then_some(ShardResource::Heap)
    }

    /// True if some group might be refused this many more bytes of the heap.
    #[inline(always)]
    pub(super) fn is_tight(&self, more: usize) -> bool {
        self.all.heap_bytes + SHARE * (self.bytes() + more) >= SHARE * self.max_bytes
    }

    /// True if the group uses nothing of a resource.
    pub(super) fn has_none(&self, group: u8, part: ShardResource) -> bool {
        let usage = self.usage(group);
        0 == match part {
            ShardResource::Slots => usage.slots,
            ShardResource::Rows => usage.rows,
            ShardResource::Heap => usage.heap_bytes,
        }
    }

    /// Bytes in use after taking this much more, including the growth of a table.
    fn bytes_with(&self, more: Footprint) -> usize {
        let grown = |buckets, items| if items > capacity(buckets) { next_buckets(buckets) } else { buckets };
        grown(self.slot_buckets, self.all.slots + more.slots as usize) * SLOT_BYTES
            + grown(self.row_buckets, self.all.rows + more.rows as usize) * ROW_BYTES
            + self.all.heap_bytes
            + more.heap_bytes as usize
    }

    fn max_slots(&self) -> usize {
        self.max_items(SLOT_BYTES, self.slot_buckets, self.row_buckets * ROW_BYTES)
    }

    fn max_rows(&self) -> usize {
        self.max_items(ROW_BYTES, self.row_buckets, self.slot_buckets * SLOT_BYTES)
    }

    /// Maximum number of items of a table, given the size of the other one and the heap, and a
    /// fifth that is reserved for them.
    fn max_items(&self, bucket_bytes: usize, buckets: usize, other_bytes: usize) -> usize {
        let left = self.max_bytes.saturating_sub(self.all.heap_bytes + other_bytes);
        let most = left.min(self.max_bytes / 5 * 4) / bucket_bytes;
        let power = if most < next_buckets(0) { 0 } else { 1 << most.ilog2() };
        capacity(power.max(buckets))
    }

    fn usage(&self, group: u8) -> ResourceUsage {
        self.groups.get(usize::from(group)).copied().unwrap_or_default()
    }
}
