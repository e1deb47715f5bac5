//! The shapes in which a subject stands in a shard, and what each takes.

use slidegate_core::{Attempt, Limit, Log, State};
use smallvec::{SmallVec, smallvec};

use super::budget::Footprint;
use super::bytes::{allocated, growth};
use super::cell::{Cell, Pack};
use super::counter_pair::{Both, Pair};
use super::interner::{CELLS, Registry};
use super::row::Content;
use super::slot::Holding;
use super::subject::{Subject, Tracked};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
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

/// What is put into a table.
#[derive(Debug)]
pub(super) enum Placed {
    Slot(Holding),
    Row(Content),
}

impl Subject {
    /// The smallest shape that holds it as it is.
    pub(super) fn shape(&self, registry: &Registry) -> Shape {
        self.shape_of(registry, &self.states(), |_, _| true)
    }

    fn states(&self) -> SmallVec<[&State; CELLS]> {
        self.tracked.iter().map(|tracked| &tracked.state).collect()
    }

    /// What it may take once this is admitted under limits that are lined up.
    pub(super) fn footprint_after(&self, registry: &Registry, attempt: Attempt) -> Footprint {
        let after = |Tracked { limit, state }: &Tracked| {
            let mut state = state.clone();
            state.decide(limit, attempt);
            state
        };
        // What fits into cells is a few words to copy, and the shape of the rest is not smaller afterwards.
        let small = self.tracked.iter().all(|tracked| tracked.state.pack().is_some());
        let after: SmallVec<[State; CELLS]> =
            if small { self.tracked.iter().map(after).collect() } else { SmallVec::new() };
        let states = if small { after.iter().collect() } else { self.states() };
        let stays_narrow = |limit: &Limit, log: &Log| log.fits_narrow(limit, attempt);
        match self.shape_of(registry, &states, stays_narrow) {
            Shape::Packed => Footprint::SLOT,
            Shape::Pair | Shape::Cells => Footprint::ROW,
            Shape::Log => {
                let Tracked { limit, state } = &self.tracked[0];
                Footprint::ROW.with_heap(allocated(state.heap_bytes() + growth(limit, state)))
            }
            Shape::Heap => Footprint::SLOT.with_heap(self.heap_bytes() + self.growth()),
        }
    }

    fn shape_of(
        &self,
        registry: &Registry,
        states: &[&State],
        stays_narrow: impl Fn(&Limit, &Log) -> bool,
    ) -> Shape {
        let has_number = || registry.number(self.group, self.limits()).is_some();
        let is_of_another = || self.limits().zip(states).any(|(limit, state)| !state.is_of(limit));
        if !self.ledger.is_empty()
            || states.is_empty()
            || states.len() > CELLS
            || !has_number()
            || is_of_another()
        {
            return Shape::Heap;
        }
        match states {
            _ if Cell::of_all(states, false).is_some() => Shape::Packed,
            [State::Counter(one), State::Counter(two)] if Pair::pack_both(one, two, false).is_some() => {
                Shape::Pair
            }
            _ if states.len() > 1 && states.iter().all(|state| state.pack().is_some()) => Shape::Cells,
            [State::Log(log)] if self.stands_alone(log) && stays_narrow(&self.tracked[0].limit, log) => {
                Shape::Log
            }
            _ => Shape::Heap,
        }
    }

    /// Whether a log can be decided on in a row, where nothing but its limit tells whether it grows.
    fn stands_alone(&self, log: &Log) -> bool {
        log.is_narrow() && log.has_slots_of(&self.tracked[0].limit)
    }

    /// What it takes in a shape.
    pub(super) fn footprint(&self, shape: Shape) -> Footprint {
        match shape {
            Shape::Packed => Footprint::SLOT,
            Shape::Pair | Shape::Cells => Footprint::ROW,
            Shape::Log => Footprint::ROW.with_heap(allocated(self.tracked[0].state.heap_bytes())),
            Shape::Heap => Footprint::SLOT.with_heap(self.heap_bytes()),
        }
    }

    /// The shape for the place that is booked for it, which may be larger than it needs.
    pub(super) fn booked_shape(&self, registry: &Registry) -> Shape {
        match self.shape(registry) {
            Shape::Packed if self.booked.slots == 0 && self.tracked.len() == 2 => Shape::Pair,
            Shape::Packed if self.booked.slots == 0 => Shape::Cells,
            Shape::Pair | Shape::Cells | Shape::Log if self.booked.rows == 0 => Shape::Heap,
            shape => shape,
        }
    }

    /// From what a slot held.
    pub(super) fn from_slot(registry: &Registry, holding: Holding) -> Option<Self> {
        match holding {
            Holding::Packed { spec, cell } => {
                let spec = registry.spec(spec)?;
                let pairs = spec.limits().iter().zip(cell.unpack_all(spec.limits()));
                let tracked = pairs.map(|(limit, state)| Tracked { limit: *limit, state }).collect();
                let denied = cell.denied();
                Some(Self { denied, booked: Footprint::SLOT, tracked, ..Self::new(spec.group) })
            }
            Holding::Heap(subject) => Some(*subject),
        }
    }

    /// From what a row held.
    pub(super) fn from_row(registry: &Registry, content: Content) -> Option<Self> {
        match content {
            Content::Pair { spec, mut pair } => {
                let (spec, denied) = (registry.spec(spec)?, pair.cell_mut().denied());
                let pairs = spec.limits().iter().zip(pair.unpack_states());
                let tracked = pairs.map(|(limit, state)| Tracked { limit: *limit, state }).collect();
                Some(Self { denied, booked: Footprint::ROW, tracked, ..Self::new(spec.group) })
            }
            Content::Cells { spec, cells } => {
                let spec = registry.spec(spec)?;
                let pairs = spec.limits().iter().zip(&cells);
                let tracked = pairs.map(|(limit, cell)| Tracked { limit: *limit, state: cell.unpack(limit) });
                let (denied, tracked) = (cells[0].denied(), tracked.collect());
                Some(Self { denied, booked: Footprint::ROW, tracked, ..Self::new(spec.group) })
            }
            Content::Log { spec, denied, head, ring } => {
                let spec = registry.spec(spec)?;
                let state = State::Log(Log::from_narrow(head, ring));
                let booked = Footprint::ROW.with_heap(allocated(state.heap_bytes()));
                let tracked = smallvec![Tracked { limit: *spec.first(), state }];
                Some(Self { denied, booked, tracked, ..Self::new(spec.group) })
            }
        }
    }

    /// Into a place of its shape, which holds it.
    pub(super) fn into_place(mut self, registry: &Registry, shape: Shape) -> Placed {
        const CHOSEN: &str = "a shape is chosen by what it can hold";
        let spec = || registry.number(self.group, self.limits()).expect(CHOSEN);
        let pack = |states: &[&State]| Cell::of_all(states, self.denied).expect(CHOSEN);
        match shape {
            Shape::Packed => Placed::Slot(Holding::Packed { spec: spec(), cell: pack(&self.states()) }),
            Shape::Pair => {
                let pair = match self.states().as_slice() {
                    [State::Counter(one), State::Counter(two)] => Pair::pack_both(one, two, self.denied),
                    _ => None,
                };
                Placed::Row(Content::Pair { spec: spec(), pair: pair.expect(CHOSEN) })
            }
            Shape::Cells => {
                let mut cells = [Cell::default(); CELLS];
                cells.iter_mut().zip(self.states()).for_each(|(cell, state)| *cell = pack(&[state]));
                Placed::Row(Content::Cells { spec: spec(), cells })
            }
            Shape::Log => {
                let (spec, denied) = (spec(), self.denied);
                let log = self.tracked.pop().and_then(|tracked| tracked.state.into_log());
                let (head, ring) = log.and_then(|log| log.into_narrow().ok()).expect(CHOSEN);
                Placed::Row(Content::Log { spec, denied, head, ring })
            }
            Shape::Heap => Placed::Slot(Holding::Heap(Box::new(self))),
        }
    }
}
