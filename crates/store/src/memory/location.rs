//! Location of a subject: where it is in its shard, and whether a charge can be decided there.

use slidegate_core::{Attempt, Counter, FastView, History, Limit, LimitKind, NarrowLog};

use super::budget::Budget;
use super::bytes::max_growth;
use super::cell::COUNT;
use super::counter_pair::CounterPair;
use super::interner::Interner;
use super::packed::PackedStates;
use super::row::{Row, RowContent};
use super::shard::Shard;
use super::slot::{Slot, SlotContent};
use super::subject::SubjectState;
use crate::fingerprint::Fingerprint;
use crate::{Charge, MAX_LIMITS};

/// Place of a subject, with what is known of it already.
pub(super) enum Place {
    /// One counter, in a slot.
    Counter(usize, FastView),
    /// Two counters, in a slot.
    SlotPair(usize, [FastView; 2]),
    /// Two counters, in a row.
    RowPair(usize, [FastView; 2]),
    /// Other small states, in a slot.
    PackedSlot(usize),
    /// Other small states, in a row.
    PackedRow(usize),
    /// Log, in a row.
    Log(usize),
    /// Any states, in the box of a slot.
    Heap(usize),
    /// Not in the table.
    New,
}

/// Place of a subject, and what its charge needs.
pub(super) struct Location {
    pub(super) place: Place,
    /// Whether the cost fits, as far as that is known without a change.
    pub(super) fits: bool,
    /// Whether the layout has room for the charge.
    pub(super) has_room: bool,
    /// Maximum growth on the heap.
    pub(super) growth_bytes: usize,
}

/// Fit of a cost.
#[derive(Clone, Copy)]
struct Fit {
    /// Whether the limits admit it.
    fits: bool,
    /// Whether the layout has room for it.
    has_room: bool,
}

impl Location {
    fn small(place: Place, Fit { fits, has_room }: Fit) -> Option<Self> {
        Some(Self { place, fits, has_room, growth_bytes: 0 })
    }

    /// Location of states that a look changes: whether the cost fits is not known yet.
    fn large(place: Place, growth_bytes: usize) -> Option<Self> {
        Some(Self { place, fits: true, has_room: true, growth_bytes })
    }
}

impl Shard {
    /// Finds the subject of a charge; `None` if it cannot be decided where it is.
    #[inline(always)]
    pub(super) fn locate(
        &mut self,
        interner: &Interner,
        fingerprint: Fingerprint,
        (charge, attempt): (&Charge<'_>, Attempt),
    ) -> Option<Location> {
        if let Some(bucket) = self.slots.find(fingerprint) {
            return locate_slot(interner, (bucket, self.slots.at(bucket)?), (charge.limits, attempt));
        }
        if let Some(bucket) = self.rows.find(fingerprint) {
            return locate_row(interner, (bucket, self.rows.at_mut(bucket)?), (charge.limits, attempt));
        }
        locate_new(interner, &self.budget, (charge, attempt))
    }
}

#[inline(always)]
fn locate_slot(
    interner: &Interner,
    (bucket, slot): (usize, &Slot),
    (limits, attempt): (&[Limit], Attempt),
) -> Option<Location> {
    let (spec, cell) = match &slot.content {
        SlotContent::Packed { spec, cell } => (*spec, cell),
        SlotContent::Heap(subject) => {
            // The general path refuses a subject with more.
            let is_ready = subject.is_aligned(limits) && subject.limit_states.len() <= MAX_LIMITS;
            let growth_bytes = subject.growth();
            return if is_ready { Location::large(Place::Heap(bucket), growth_bytes) } else { None };
        }
    };
    if interner.spec(spec)?.limits() != limits {
        return None;
    }
    match limits {
        [limit] if limit.kind() == LimitKind::Counter => {
            if let Some((view, fit)) = view(limit, cell.unpack(limit), attempt, COUNT) {
                return Location::small(Place::Counter(bucket, view), fit);
            }
        }
        [one, two] => {
            if let Some((views, fit)) = view_both([one, two], cell, attempt) {
                return Location::small(Place::SlotPair(bucket, views), fit);
            }
        }
        _ => {}
    }
    let fit = fit_packed(PackedStates::Cell(*cell), limits, attempt)?;
    Location::small(Place::PackedSlot(bucket), fit)
}

#[inline(always)]
fn locate_row(
    interner: &Interner,
    (bucket, row): (usize, &mut Row),
    (limits, attempt): (&[Limit], Attempt),
) -> Option<Location> {
    let packed = match &mut row.content {
        RowContent::Log { spec, head, ring, .. } => {
            let limit = interner.spec(*spec)?.limits().first().filter(|limit| limits == [**limit])?;
            let log = NarrowLog { head, ring };
            if !log.fits(limit, attempt) {
                return None;
            }
            let growth_bytes = if log.may_grow(limit) { max_growth(log.ring.heap_bytes()) } else { 0 };
            return Location::large(Place::Log(bucket), growth_bytes);
        }
        RowContent::Pair { spec, pair } => {
            if let [one, two] = limits
                && interner.spec(*spec)?.limits() == limits
                && let Some((views, fit)) = view_both([one, two], pair, attempt)
            {
                return Location::small(Place::RowPair(bucket, views), fit);
            }
            (*spec, PackedStates::Pair(*pair))
        }
        RowContent::Cells { spec, cells } => (*spec, PackedStates::Cells(*cells)),
    };
    if interner.spec(packed.0)?.limits() != limits {
        return None;
    }
    let fit = fit_packed(packed.1, limits, attempt)?;
    Location::small(Place::PackedRow(bucket), fit)
}

/// Location of a subject that is not in the table; `None` if there might be no memory for it.
#[inline(never)]
fn locate_new(
    interner: &Interner,
    budget: &Budget,
    (charge, attempt): (&Charge<'_>, Attempt),
) -> Option<Location> {
    if charge.limits.is_empty() {
        return None;
    }
    let mut subject = new_subject(interner, charge);
    let fits = subject.fits_after_peek(charge.limits, attempt);
    if !fits || attempt.cost == 0 {
        return Location::small(Place::New, Fit { fits, has_room: true });
    }
    let footprint = subject.footprint_after(interner, attempt);
    if budget.shortage(subject.group, footprint).is_some() {
        return None;
    }
    Location::large(Place::New, footprint.heap_bytes as usize)
}

/// Subject without state.
pub(super) fn new_subject(interner: &Interner, charge: &Charge<'_>) -> SubjectState {
    let mut subject = SubjectState::new(interner.group(charge.space));
    subject.align(charge.limits);
    subject
}

/// Fast view of a counter that stores counts up to `most`, and the fit of the cost.
#[inline(always)]
fn view(limit: &Limit, counter: Counter, attempt: Attempt, most: u64) -> Option<(FastView, Fit)> {
    let view = counter.fast_view(limit, attempt.now_ms, limit.elapsed_ms(attempt.now_ms))?;
    let fits = attempt.cost <= view.remaining(limit);
    // A cost that does not fit may be as large as a number can be.
    let has_room = !fits || view.current() + attempt.cost <= most;
    Some((view, Fit { fits, has_room }))
}

/// [`view`] of both counters of a pair.
#[inline(always)]
fn view_both<P: CounterPair>(
    limits: [&Limit; 2],
    pair: &P,
    attempt: Attempt,
) -> Option<([FastView; 2], Fit)> {
    let (one, two) = pair.unpack_both();
    let (one, first) = view(limits[0], one, attempt, P::MOST)?;
    let (two, second) = view(limits[1], two, attempt, P::MOST)?;
    let fit = Fit { fits: first.fits & second.fits, has_room: first.has_room & second.has_room };
    Some(([one, two], fit))
}

/// Fit of a cost to small states; `None` if they do not fit their layout even without it. Whether
/// there is room for it is seen later, only if all limits admit.
#[inline(never)]
fn fit_packed(packed: PackedStates, limits: &[Limit], attempt: Attempt) -> Option<Fit> {
    let mut states = packed.unpack(limits);
    let mut fits = true;
    for (limit, state) in limits.iter().zip(&mut states) {
        fits &= attempt.cost <= state.peek(limit, attempt.now_ms).0;
    }
    packed.pack(&states, false)?;
    Some(Fit { fits, has_room: true })
}

/// Whether small states still fit their layout after a charge, which they admit.
#[inline(never)]
pub(super) fn has_room_packed(packed: PackedStates, limits: &[Limit], attempt: Attempt) -> bool {
    let mut states = packed.unpack(limits);
    for (limit, state) in limits.iter().zip(&mut states) {
        state.decide(limit, attempt);
    }
    packed.pack(&states, false).is_some()
}
