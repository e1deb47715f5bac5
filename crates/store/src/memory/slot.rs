//! Slot: one subject in 32 bytes, with its states in a cell or on the heap.

use super::cell::Cell;
use super::subject::SubjectState;
use super::table::Keyed;
use crate::fingerprint::Fingerprint;

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) fingerprint: Fingerprint,
    pub(super) content: SlotContent,
}

/// Content of a slot.
#[derive(Debug)]
pub(super) enum SlotContent {
    /// One limit whose state is small: most subjects, most of the time.
    Packed { spec: u8, cell: Cell },
    /// Everything else: many limits, several logs, large counts, in-flight holders, permits.
    Heap(Box<SubjectState>),
}

/// Size of a bucket of slots, full or empty: emptiness is a value of the tag.
pub(super) const SLOT_BYTES: usize = size_of::<Option<Slot>>();

const _: () = assert!(SLOT_BYTES == 32);

impl Keyed for Slot {
    #[inline(always)]
    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}
