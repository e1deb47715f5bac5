//! Packed states of a subject: all of them, in the cells of a slot or of a row.

use slidegate_core::{Limit, State};
use smallvec::SmallVec;

use super::cell::Cell;
use super::counter_pair::{CounterPair, WidePair};
use super::interner::CELLS;
use super::row::RowContent;
use super::slot::SlotContent;

/// Copy of the small states of a subject, with its denial mark.
#[derive(Clone, Copy, Debug)]
pub(super) enum PackedStates {
    Cell(Cell),
    Pair(WidePair),
    Cells([Cell; CELLS]),
}

impl PackedStates {
    /// States in a slot, with the number of their limits; `None` if they are on the heap.
    pub(super) fn of_slot(content: &SlotContent) -> Option<(u8, Self)> {
        match content {
            SlotContent::Packed { spec, cell } => Some((*spec, Self::Cell(*cell))),
            SlotContent::Heap(_) => None,
        }
    }

    /// States in a row, with the number of their limits; `None` of a log.
    pub(super) fn of_row(content: &RowContent) -> Option<(u8, Self)> {
        match content {
            RowContent::Pair { spec, pair } => Some((*spec, Self::Pair(*pair))),
            RowContent::Cells { spec, cells } => Some((*spec, Self::Cells(*cells))),
            RowContent::Log { .. } => None,
        }
    }

    /// Puts the states back into the slot that they were copied from.
    pub(super) fn write_slot(self, content: &mut SlotContent) {
        if let (Self::Cell(packed), SlotContent::Packed { cell, .. }) = (self, content) {
            *cell = packed;
        }
    }

    /// Puts the states back into the row that they were copied from.
    pub(super) fn write_row(self, content: &mut RowContent) {
        match (self, content) {
            (Self::Pair(packed), RowContent::Pair { pair, .. }) => *pair = packed,
            (Self::Cells(packed), RowContent::Cells { cells, .. }) => *cells = packed,
            _ => {}
        }
    }

    /// Whether the last charge was denied.
    pub(super) fn denied(&self) -> bool {
        match self {
            Self::Cell(cell) | Self::Cells([cell, ..]) => cell.denied(),
            Self::Pair(pair) => pair.denied(),
        }
    }

    /// States under these limits, with which they were packed.
    pub(super) fn unpack(&self, limits: &[Limit]) -> SmallVec<[State; CELLS]> {
        match self {
            Self::Cell(cell) => cell.unpack_all(limits).into_iter().collect(),
            Self::Pair(pair) => pair.unpack_states().into_iter().collect(),
            Self::Cells(cells) => limits.iter().zip(cells).map(|(limit, cell)| cell.unpack(limit)).collect(),
        }
    }

    /// The same layout with these states; `None` if they do not fit it.
    pub(super) fn pack(&self, states: &[State], denied: bool) -> Option<Self> {
        match self {
            Self::Cell(_) => {
                let states: SmallVec<[&State; CELLS]> = states.iter().collect();
                Cell::of_all(&states, denied).map(Self::Cell)
            }
            Self::Pair(_) => match states {
                [State::Counter(one), State::Counter(two)] => {
                    WidePair::pack_both(one, two, denied).map(Self::Pair)
                }
                _ => None,
            },
            Self::Cells(_) => {
                let mut cells = [Cell::default(); CELLS];
                for (index, (cell, state)) in cells.iter_mut().zip(states).enumerate() {
                    *cell = Cell::of_all(&[state], denied && index == 0)?;
                }
                Some(Self::Cells(cells))
            }
        }
    }
}
