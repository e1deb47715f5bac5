//! One subject in 32 bytes: its fingerprint, and its states in a cell, or everything on the heap.

use super::cell::Cell;
use super::subject::SubjectState;
use super::table::Keyed;
use crate::fingerprint::Fingerprint;

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) fingerprint: Fingerprint,
    pub(super) holding: SlotContent,
}

/// What a slot holds.
#[derive(Debug)]
pub(super) enum SlotContent {
    /// One limit whose state is small: most subjects, most of the time.
    Packed { spec: u8, cell: Cell },
    /// What no other form can hold: many limits, several logs, large counts, holders in flight,
    /// permits.
    Heap(Box<SubjectState>),
}

/// Size of a bucket of slots. Being empty costs nothing: it is one more value of the tag.
pub(super) const SLOT_BYTES: usize = size_of::<Option<Slot>>();

const _: () = assert!(SLOT_BYTES == 32);

impl Keyed for Slot {
    #[inline(always)]
    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}
