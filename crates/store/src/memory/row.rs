//! Row: one subject in a cache line of its own, with two or three small states, or a log. The
//! entries of a log are elsewhere, but a denial does not need them.

use slidegate_core::{LogHead, Ring};

use super::cell::Cell;
use super::counter_pair::WidePair;
use super::interner::CELLS;
use super::table::Keyed;
use crate::fingerprint::Fingerprint;

#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Row {
    pub(super) fingerprint: Fingerprint,
    pub(super) content: RowContent,
}

/// Content of a row.
#[derive(Clone, Debug)]
pub(super) enum RowContent {
    /// Two counters.
    Pair { spec: u8, pair: WidePair },
    /// One cell per limit of the spec.
    Cells { spec: u8, cells: [Cell; CELLS] },
    /// Log, and whether the subject was denied since the last write.
    Log { spec: u8, denied: bool, head: LogHead, ring: Ring },
}

/// Size of a bucket of rows, full or empty.
pub(super) const ROW_BYTES: usize = size_of::<Option<Row>>();

const _: () = assert!(ROW_BYTES == 64);

impl Keyed for Row {
    #[inline(always)]
    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}
