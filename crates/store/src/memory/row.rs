//! One subject in a cache line of its own: two or three small states, or a log, whose entries are
//! elsewhere but are not needed to refuse.

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

/// What a row holds.
#[derive(Clone, Debug)]
pub(super) enum RowContent {
    /// Two counters.
    Pair { spec: u8, pair: WidePair },
    /// A cell for each limit of the spec.
    Cells { spec: u8, cells: [Cell; CELLS] },
    /// A log, and whether the subject was denied since it was written.
    Log { spec: u8, denied: bool, head: LogHead, ring: Ring },
}

/// A place for a row, full or empty.
pub(super) const ROW_BYTES: usize = size_of::<Option<Row>>();

const _: () = assert!(ROW_BYTES == 64);

impl Keyed for Row {
    #[inline(always)]
    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}
