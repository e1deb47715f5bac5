//! Fast path of requests on several subjects: they are decided in place, with all shards locked.
//!
//! First every subject is found and checked: it has exactly these limits, its layout stays, and no
//! memory is scarce. Otherwise nothing changes here, and the general path decides. Then every limit
//! is evaluated, and at last all are charged, or none. The last two steps cannot fail.

use slidegate_core::{
    Attempt, Decision, Decisions, FastView, History, Limit, MAX_TIME_MS, NarrowLog, Verdict, decide_one,
    evaluate_one,
};
use smallvec::SmallVec;

use super::Memory;
use super::budget::Footprint;
use super::bytes::allocated;
use super::counter_pair::CounterPair;
use super::fast_path::{answer, set_denied};
use super::interner::Interner;
use super::location::{Place, has_room_packed, new_subject};
use super::packed::PackedStates;
use super::row::{Row, RowContent};
use super::shard::Shard;
use super::slot::SlotContent;
use super::subject::LimitState;
use crate::fingerprint::Fingerprint;
use crate::{Charge, ChargeRequest};

/// Maximum number of charges of a request on this path.
const MAX_CHARGES: usize = 8;

/// Charge whose subject is found.
struct LocatedCharge<'c> {
    charge: &'c Charge<'c>,
    attempt: Attempt,
    fingerprint: Fingerprint,
    shard: usize,
    place: Place,
}

/// Whether a request is charged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChargeEffect {
    All,
    None,
}

/// Decisions of a request, limit by limit.
type RequestDecisions = SmallVec<[Decision; MAX_CHARGES]>;

impl Memory {
    /// Decides a request on several subjects in place; `None`, and nothing is decided, if one of
    /// them needs another layout or scarce memory, or occurs twice.
    pub(super) fn decide_in_place(&self, call: &ChargeRequest<'_>) -> Option<Verdict> {
        let ChargeRequest { now_ms, holder, charges } = *call;
        if charges.len() > MAX_CHARGES || now_ms > MAX_TIME_MS {
            return None;
        }
        let mut fingerprints: SmallVec<[Fingerprint; MAX_CHARGES]> = SmallVec::new();
        for charge in charges {
            let fingerprint = self.fingerprints.of(charge.space, charge.key);
            if fingerprints.contains(&fingerprint) {
                return None;
            }
            fingerprints.push(fingerprint);
        }
        let mut guards = self.lock(&fingerprints);
        let mut located: SmallVec<[LocatedCharge<'_>; MAX_CHARGES]> = SmallVec::new();
        let (mut fits, mut has_room, mut growth_bytes) = (true, true, 0);
        let (mut has_new, mut has_growth) = (false, false);
        for (charge, fingerprint) in charges.iter().zip(&fingerprints) {
            let shard = self.shard_of(fingerprint);
            let attempt = Attempt { now_ms, cost: charge.cost, holder };
            let location = guards.shard(shard).locate(&self.interner, *fingerprint, (charge, attempt))?;
            let is_new = matches!(location.place, Place::New);
            // Two new subjects would count on the same bucket.
            if is_new && located.iter().any(|one| one.shard == shard && one.is_new()) {
                return None;
            }
            fits &= location.fits;
            has_room &= location.has_room;
            growth_bytes += location.growth_bytes;
            has_new |= is_new;
            has_growth |= !is_new && location.growth_bytes > 0;
            let (fingerprint, place) = (*fingerprint, location.place);
            located.push(LocatedCharge { charge, attempt, fingerprint, shard, place });
        }
        if growth_bytes > 0 && located.iter().any(|one| guards.shard(one.shard).budget.is_tight(growth_bytes))
        {
            return None;
        }
        // Growth might take the memory that a new subject counts on.
        if fits && (!has_room || has_new && has_growth) {
            return None;
        }
        for one in &located {
            fits &= one.fits_after_peek(guards.shard(one.shard));
        }
        if fits && !located.iter().all(|one| one.has_room(guards.shard(one.shard))) {
            return None;
        }
        let charging = if fits { ChargeEffect::All } else { ChargeEffect::None };
        let mut decisions = RequestDecisions::new();
        for one in &located {
            one.decide(&self.interner, guards.shard(one.shard), charging, &mut decisions);
        }
        if fits {
            // At last, because insertions move other subjects.
            let new = located.iter().filter(|one| one.is_new() && one.attempt.cost != 0);
            new.for_each(|one| one.insert(&self.interner, guards.shard(one.shard)));
        }
        Some(Verdict::new(now_ms, decision_list(&decisions)))
    }
}

/// Decisions of a verdict: up to two take no allocation.
fn decision_list(decisions: &[Decision]) -> Decisions {
    match decisions {
        [one] => [*one].into(),
        [one, two] => [*one, *two].into(),
        many => many.iter().copied().collect(),
    }
}

impl ChargeEffect {
    /// Decision of one limit, which admits the cost if it is charged.
    #[inline(always)]
    fn decide<H: History>(self, history: &mut H, limit: &Limit, attempt: Attempt) -> Decision {
        match self {
            Self::All => decide_one(history, limit, attempt),
            Self::None => evaluate_one(history, limit, attempt),
        }
    }

    /// Charges a pair of counters, or marks it as denied.
    #[inline(always)]
    fn write_pair<P: CounterPair>(self, pair: &mut P, attempt: Attempt) {
        match self {
            _ if attempt.cost == 0 => {}
            Self::All => pair.add_to_both(attempt.now_ms, attempt.cost),
            Self::None => pair.cell_mut().deny(),
        }
    }

    /// Decision of a counter from its view.
    #[inline(always)]
    fn answer(self, view: FastView, limit: &Limit, attempt: Attempt) -> Decision {
        answer(view, self == Self::All && attempt.cost != 0, limit, (attempt.now_ms, attempt.cost))
    }
}

impl LocatedCharge<'_> {
    fn is_new(&self) -> bool {
        matches!(self.place, Place::New)
    }

    /// Whether the layout of small states has room for the cost, which fits.
    #[inline(always)]
    fn has_room(&self, shard: &Shard) -> bool {
        let packed = match self.place {
            Place::PackedSlot(at) => shard.slots.at(at).and_then(|slot| PackedStates::of_slot(&slot.content)),
            Place::PackedRow(at) => shard.rows.at(at).and_then(|row| PackedStates::of_row(&row.content)),
            _ => None,
        };
        packed.is_none_or(|(_, packed)| has_room_packed(packed, self.charge.limits, self.attempt))
    }

    /// Whether the cost fits states that a look changes.
    #[inline(always)]
    fn fits_after_peek(&self, shard: &mut Shard) -> bool {
        let (limits, attempt) = (self.charge.limits, self.attempt);
        match self.place {
            Place::Log(bucket) => match shard.rows.at_mut(bucket).map(|row| &mut row.content) {
                Some(RowContent::Log { head, ring, .. }) => {
                    attempt.cost <= NarrowLog { head, ring }.peek(&limits[0], attempt.now_ms).0
                }
                _ => true,
            },
            Place::Heap(bucket) => match shard.slots.at_mut(bucket).map(|slot| &mut slot.content) {
                Some(SlotContent::Heap(subject)) => subject.fits_after_peek(limits, attempt),
                _ => true,
            },
            _ => true,
        }
    }

    /// Decides every limit of the subject where it is.
    #[inline(always)]
    fn decide(
        &self,
        interner: &Interner,
        shard: &mut Shard,
        charging: ChargeEffect,
        decisions: &mut RequestDecisions,
    ) {
        let (limits, attempt) = (self.charge.limits, self.attempt);
        match &self.place {
            Place::Counter(bucket, view) => {
                if let Some(SlotContent::Packed { cell, .. }) =
                    shard.slots.at_mut(*bucket).map(|slot| &mut slot.content)
                {
                    match charging {
                        _ if attempt.cost == 0 => {}
                        ChargeEffect::All => cell.add(attempt.now_ms, attempt.cost),
                        ChargeEffect::None => cell.deny(),
                    }
                }
                decisions.push(charging.answer(*view, &limits[0], attempt));
            }
            Place::SlotPair(bucket, views) => {
                if let Some(SlotContent::Packed { cell, .. }) =
                    shard.slots.at_mut(*bucket).map(|slot| &mut slot.content)
                {
                    charging.write_pair(cell, attempt);
                }
                let answers = limits.iter().zip(views);
                decisions.extend(answers.map(|(limit, view)| charging.answer(*view, limit, attempt)));
            }
            Place::RowPair(bucket, views) => {
                if let Some(RowContent::Pair { pair, .. }) =
                    shard.rows.at_mut(*bucket).map(|row| &mut row.content)
                {
                    charging.write_pair(pair, attempt);
                }
                let answers = limits.iter().zip(views);
                decisions.extend(answers.map(|(limit, view)| charging.answer(*view, limit, attempt)));
            }
            Place::Log(bucket) => {
                let Shard { rows, budget, .. } = shard;
                let row = rows.at_mut(*bucket);
                if let Some(Row { content: RowContent::Log { spec, denied, head, ring }, .. }) = row {
                    let before = ring.heap_bytes();
                    let decision = charging.decide(&mut NarrowLog { head, ring }, &limits[0], attempt);
                    set_denied(denied, attempt.cost, charging == ChargeEffect::All);
                    decisions.push(decision);
                    let after = ring.heap_bytes();
                    if let (true, Some(spec)) = (after != before, interner.spec(*spec)) {
                        let [before, after] = [before, after].map(|bytes| Footprint::heap(allocated(bytes)));
                        budget.change(spec.group, before, after);
                    }
                }
            }
            _ => self.decide_elsewhere(interner, shard, charging, decisions),
        }
    }

    /// [`LocatedCharge::decide`] for the less common places.
    #[inline(never)]
    fn decide_elsewhere(
        &self,
        interner: &Interner,
        shard: &mut Shard,
        charging: ChargeEffect,
        decisions: &mut RequestDecisions,
    ) {
        let (limits, attempt) = (self.charge.limits, self.attempt);
        match self.place {
            Place::PackedSlot(bucket) => {
                if let Some(content) = shard.slots.at_mut(bucket).map(|slot| &mut slot.content)
                    && let Some((_, packed)) = PackedStates::of_slot(content)
                {
                    self.decide_packed(packed, charging, decisions).write_slot(content);
                }
            }
            Place::PackedRow(bucket) => {
                if let Some(content) = shard.rows.at_mut(bucket).map(|row| &mut row.content)
                    && let Some((_, packed)) = PackedStates::of_row(content)
                {
                    self.decide_packed(packed, charging, decisions).write_row(content);
                }
            }
            Place::Heap(bucket) => {
                let Shard { slots, budget, .. } = shard;
                if let Some(SlotContent::Heap(subject)) = slots.at_mut(bucket).map(|slot| &mut slot.content) {
                    for (limit, LimitState { state, .. }) in limits.iter().zip(&mut subject.limit_states) {
                        decisions.push(charging.decide(state, limit, attempt));
                    }
                    subject.set_denied(attempt.cost, charging == ChargeEffect::All);
                    if subject.budgeted != subject.budgeted.with_heap(subject.heap_bytes()) {
                        subject.update_budget(budget);
                    }
                }
            }
            _ => {
                // Decided on a copy: it is inserted if all admit.
                let mut subject = new_subject(interner, self.charge);
                let states = limits.iter().zip(&mut subject.limit_states);
                decisions.extend(states.map(|(limit, one)| charging.decide(&mut one.state, limit, attempt)));
            }
        }
    }

    /// Decides small states; returns them as they are written back.
    fn decide_packed(
        &self,
        packed: PackedStates,
        charging: ChargeEffect,
        decisions: &mut RequestDecisions,
    ) -> PackedStates {
        let (limits, attempt) = (self.charge.limits, self.attempt);
        let mut states = packed.unpack(limits);
        let pairs = limits.iter().zip(&mut states);
        decisions.extend(pairs.map(|(limit, state)| charging.decide(state, limit, attempt)));
        let denied = if attempt.cost == 0 { packed.denied() } else { charging == ChargeEffect::None };
        packed.pack(&states, denied).expect("it was checked that the states fit")
    }

    /// Inserts the subject with its first charge. There is memory for it.
    fn insert(&self, interner: &Interner, shard: &mut Shard) {
        let mut subject = new_subject(interner, self.charge);
        let _charged = subject.decide(self.charge.limits, self.attempt);
        shard.sweep(interner, self.attempt.now_ms);
        let footprint = subject.footprint(subject.layout(interner));
        subject.set_footprint(&mut shard.budget, footprint);
        shard.insert(interner, self.fingerprint, subject);
    }
}

#[cfg(test)]
mod tests;
