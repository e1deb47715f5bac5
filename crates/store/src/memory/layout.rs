//! Layouts of a subject in a shard, and their footprints.

use slidegate_core::{Attempt, Limit, Log, State};
use smallvec::SmallVec;

use super::budget::Footprint;
use super::bytes::{allocated, growth};
use super::cell::{Cell, Pack};
use super::counter_pair::{CounterPair, WidePair};
use super::interner::{CELLS, Interner, LimitSpec};
use super::row::RowContent;
use super::slot::SlotContent;
use super::subject::{LimitState, SubjectState};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// One cell in a slot: one limit, or two counters.
    Packed,
    /// Two counters in a row.
    Pair,
    /// Up to three cells in a row.
    Cells,
    /// A log in a row.
    Log,
    /// A box in a slot.
    Heap,
}

/// Item of either table.
#[derive(Debug)]
pub(super) enum TableItem {
    Slot(SlotContent),
    Row(RowContent),
}

impl SubjectState {
    /// Smallest layout that fits its current state.
    pub(super) fn layout(&self, interner: &Interner) -> Layout {
        self.layout_of(interner, &self.states(), |_, _| true)
    }

    fn states(&self) -> SmallVec<[&State; CELLS]> {
        self.limit_states.iter().map(|one| &one.state).collect()
    }

    /// Footprint after this attempt is admitted under limits that are aligned.
    pub(super) fn footprint_after(&self, interner: &Interner, attempt: Attempt) -> Footprint {
        let after = |LimitState { limit, state }: &LimitState| {
            let mut state = state.clone();
            state.decide(limit, attempt);
            state
        };
        // States that fit cells are a few words to copy; the layout of others is not smaller
        // afterwards.
        let small = self.limit_states.iter().all(|one| one.state.pack().is_some());
        let after: SmallVec<[State; CELLS]> =
            if small { self.limit_states.iter().map(after).collect() } else { SmallVec::new() };
        let states = if small { after.iter().collect() } else { self.states() };
        let stays_narrow = |limit: &Limit, log: &Log| log.fits_narrow(limit, attempt);
        match self.layout_of(interner, &states, stays_narrow) {
            Layout::Packed => Footprint::SLOT,
            Layout::Pair | Layout::Cells => Footprint::ROW,
            Layout::Log => {
                let LimitState { limit, state } = &self.limit_states[0];
                Footprint::ROW.with_heap(allocated(state.heap_bytes() + growth(limit, state)))
            }
            Layout::Heap => Footprint::SLOT.with_heap(self.heap_bytes() + self.growth()),
        }
    }

    fn layout_of(
        &self,
        interner: &Interner,
        states: &[&State],
        stays_narrow: impl Fn(&Limit, &Log) -> bool,
    ) -> Layout {
        let has_number = || interner.number(self.group, self.limits()).is_some();
        let is_of_another = || self.limits().zip(states).any(|(limit, state)| !state.is_of(limit));
        if !self.permits.is_empty()
            || states.is_empty()
            || states.len() > CELLS
            || !has_number()
            || is_of_another()
        {
            return Layout::Heap;
        }
        match states {
            _ if Cell::of_all(states, false).is_some() => Layout::Packed,
            [State::Counter(one), State::Counter(two)] if WidePair::pack_both(one, two, false).is_some() => {
                Layout::Pair
            }
            _ if states.len() > 1 && states.iter().all(|state| state.pack().is_some()) => Layout::Cells,
            [State::Log(log)] if self.stands_alone(log) && stays_narrow(&self.limit_states[0].limit, log) => {
                Layout::Log
            }
            _ => Layout::Heap,
        }
    }

    /// True if a log can be decided in a row, where its limit alone determines whether it may grow.
    fn stands_alone(&self, log: &Log) -> bool {
        log.is_narrow() && log.has_slots_of(&self.limit_states[0].limit)
    }

    /// Footprint in a layout.
    pub(super) fn footprint(&self, layout: Layout) -> Footprint {
        match layout {
            Layout::Packed => Footprint::SLOT,
            Layout::Pair | Layout::Cells => Footprint::ROW,
            Layout::Log => Footprint::ROW.with_heap(allocated(self.limit_states[0].state.heap_bytes())),
            Layout::Heap => Footprint::SLOT.with_heap(self.heap_bytes()),
        }
    }

    /// Layout for its budgeted footprint, which may be larger than necessary.
    pub(super) fn budgeted_layout(&self, interner: &Interner) -> Layout {
        match self.layout(interner) {
            Layout::Packed if self.budgeted.slots == 0 && self.limit_states.len() == 2 => Layout::Pair,
            Layout::Packed if self.budgeted.slots == 0 => Layout::Cells,
            Layout::Pair | Layout::Cells | Layout::Log if self.budgeted.rows == 0 => Layout::Heap,
            layout => layout,
        }
    }

    /// Subject from the content of a slot.
    pub(super) fn from_slot(interner: &Interner, content: SlotContent) -> Option<Self> {
        match content {
            SlotContent::Packed { spec, cell } => {
                let spec = interner.spec(spec)?;
                let states = cell.unpack_all(spec.limits());
                Some(Self::from_states(spec, states, cell.denied(), Footprint::SLOT))
            }
            SlotContent::Heap(subject) => Some(*subject),
        }
    }

    /// Subject from the content of a row.
    pub(super) fn from_row(interner: &Interner, content: RowContent) -> Option<Self> {
        match content {
            RowContent::Pair { spec, mut pair } => {
                let (spec, denied) = (interner.spec(spec)?, pair.cell_mut().denied());
                Some(Self::from_states(spec, pair.unpack_states(), denied, Footprint::ROW))
            }
            RowContent::Cells { spec, cells } => {
                let spec = interner.spec(spec)?;
                let states = spec.limits().iter().zip(&cells).map(|(limit, cell)| cell.unpack(limit));
                Some(Self::from_states(spec, states, cells[0].denied(), Footprint::ROW))
            }
            RowContent::Log { spec, denied, head, ring } => {
                let budgeted = Footprint::ROW.with_heap(allocated(ring.heap_bytes()));
                let state = State::Log(Log::from_narrow(head, ring));
                Some(Self::from_states(interner.spec(spec)?, [state], denied, budgeted))
            }
        }
    }

    fn from_states(
        spec: &LimitSpec,
        states: impl IntoIterator<Item = State>,
        denied: bool,
        budgeted: Footprint,
    ) -> Self {
        let pairs = spec.limits().iter().zip(states);
        let limit_states = pairs.map(|(limit, state)| LimitState { limit: *limit, state }).collect();
        Self { denied, budgeted, limit_states, ..Self::new(spec.group) }
    }

    /// Table item in a layout that fits.
    pub(super) fn into_item(mut self, interner: &Interner, layout: Layout) -> TableItem {
        const FITS: &str = "a layout is chosen by what fits";
        let spec = || interner.number(self.group, self.limits()).expect(FITS);
        let pack = |states: &[&State]| Cell::of_all(states, self.denied).expect(FITS);
        match layout {
            Layout::Packed => {
                TableItem::Slot(SlotContent::Packed { spec: spec(), cell: pack(&self.states()) })
            }
            Layout::Pair => {
                let pair = match self.states().as_slice() {
                    [State::Counter(one), State::Counter(two)] => WidePair::pack_both(one, two, self.denied),
                    _ => None,
                };
                TableItem::Row(RowContent::Pair { spec: spec(), pair: pair.expect(FITS) })
            }
            Layout::Cells => {
                let mut cells = [Cell::default(); CELLS];
                cells.iter_mut().zip(self.states()).for_each(|(cell, state)| *cell = pack(&[state]));
                TableItem::Row(RowContent::Cells { spec: spec(), cells })
            }
            Layout::Log => {
                let (spec, denied) = (spec(), self.denied);
                let log = self.limit_states.pop().and_then(|one| one.state.into_log());
                let (head, ring) = log.and_then(|log| log.into_narrow().ok()).expect(FITS);
                TableItem::Row(RowContent::Log { spec, denied, head, ring })
            }
            Layout::Heap => TableItem::Slot(SlotContent::Heap(Box::new(self))),
        }
    }
}
