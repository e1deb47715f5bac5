//! Decisions on a subject where it is, in each of its shapes: what most requests come to. Where it is not there, has other
//! limits, or may need memory that is scarce, nothing changes, and it is decided anywhere.

use std::ops::Deref;

use slidegate_core::{
    Attempt, Decision, FastView, Limit, MAX_TIME_MS, NarrowLog, Outcome, Verdict, decide_one,
};

use super::budget::{Books, Footprint};
use super::bytes::{allocated, most_growth};
use super::cell::{charge_at_a_glance, decide_cell, decide_two_cells};
use super::counter_pair::{charge_both_at_a_glance, decide_both};
use super::interner::{Number, Spec};
use super::row::{Content, Row};
use super::shard::Shard;
use super::slot::{Holding, Slot};
use super::{Memory, PreparedLimits};
use crate::fingerprint::Fingerprint;

#[inline(always)]
fn verdict(decided_at_ms: u64, one: Decision) -> Verdict {
    Verdict::new(decided_at_ms, [one].into())
}

/// What is answered at a glance.
#[inline(always)]
fn answer(fast_view: FastView, charged: bool, limit: &Limit, (now_ms, cost): (u64, u64)) -> Decision {
    let attempt = Attempt { now_ms, cost, holder: 0 };
    if charged { fast_view.admit(limit, attempt) } else { fast_view.leave(limit, attempt) }
}

#[inline(always)]
fn answer_both(
    (one, two): (FastView, FastView),
    charged: bool,
    limits: (&Limit, &Limit),
    asked: (u64, u64),
) -> [Decision; 2] {
    [answer(one, charged, limits.0, asked), answer(two, charged, limits.1, asked)]
}

impl Memory {
    /// Under one counter.
    #[inline(always)]
    pub(super) fn decide_counter<L: Deref<Target = [Limit]>>(
        &self,
        fingerprint: Fingerprint,
        terms: &PreparedLimits<L>,
        (now_ms, cost): (u64, u64),
    ) -> Verdict {
        let limit = &terms.first;
        // Before the lock: what needs nothing of the key overlaps with what comes before.
        let elapsed_ms = limit.elapsed_ms(now_ms);
        'in_place: {
            let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
            let Some(Slot { holding: Holding::Packed { spec, cell }, .. }) =
                shard.slots.find_mut(fingerprint)
            else {
                break 'in_place;
            };
            if now_ms > MAX_TIME_MS || !terms.number.is(*spec) {
                break 'in_place;
            }
            if let Some((fast_view, charged)) = charge_at_a_glance(limit, cell, (now_ms, cost), elapsed_ms) {
                drop(shard);
                return verdict(now_ms, answer(fast_view, charged, limit, (now_ms, cost)));
            }
            if let Some(decision) = decide_cell(limit, cell, (now_ms, cost)) {
                return verdict(now_ms, decision);
            }
        }
        self.decide_anywhere(fingerprint, terms, (now_ms, cost), 0)
    }

    /// Under one log.
    #[inline(always)]
    pub(super) fn decide_log<L: Deref<Target = [Limit]>>(
        &self,
        fingerprint: Fingerprint,
        terms: &PreparedLimits<L>,
        (now_ms, cost): (u64, u64),
    ) -> Verdict {
        let limit = &terms.first;
        'in_place: {
            let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
            let Shard { slots, rows, books, .. } = &mut *shard;
            let Some(Row { content: Content::Log { spec, denied, head, ring }, .. }) =
                rows.find_mut(fingerprint)
            else {
                let slot = slots.find_mut(fingerprint);
                match slot.and_then(|slot| decide_slot(slot, books, (&terms.number, limit), (now_ms, cost))) {
                    Some(decision) => return verdict(now_ms, decision),
                    None => break 'in_place,
                }
            };
            let mut log = NarrowLog { head, ring };
            let attempt = Attempt { now_ms, cost, holder: 0 };
            if now_ms > MAX_TIME_MS || !terms.number.is(*spec) || !log.fits(limit, attempt) {
                break 'in_place;
            }
            if log.may_grow(limit) {
                match decide_growing(books, self.registry.spec(*spec), log, denied, (now_ms, cost)) {
                    Some(decision) => return verdict(now_ms, decision),
                    None => break 'in_place,
                }
            }
            let decision = decide_one(&mut log, limit, attempt);
            note(denied, cost, &decision);
            drop(shard);
            return verdict(now_ms, decision);
        }
        self.decide_anywhere(fingerprint, terms, (now_ms, cost), 0)
    }

    /// Under two limits.
    #[inline(always)]
    pub(super) fn decide_two<L: Deref<Target = [Limit]>>(
        &self,
        fingerprint: Fingerprint,
        terms: &PreparedLimits<L>,
        asked: (u64, u64),
        holder: u64,
    ) -> Verdict {
        let limits = (&terms.first, &terms.second);
        let elapsed_ms = (limits.0.elapsed_ms(asked.0), limits.1.elapsed_ms(asked.0));
        'in_place: {
            let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
            let Shard { slots, rows, books, .. } = &mut *shard;
            let verdict = |two: [Decision; 2]| Verdict::new(asked.0, two.into());
            if asked.0 > MAX_TIME_MS {
                break 'in_place;
            }
            if let Some(slot) = slots.find_mut(fingerprint) {
                if let Holding::Packed { spec, cell } = &mut slot.holding {
                    if !terms.number.is(*spec) {
                        break 'in_place;
                    }
                    if let Some((seen, charged)) = charge_both_at_a_glance(limits, cell, asked, elapsed_ms) {
                        drop(shard);
                        return verdict(answer_both(seen, charged, limits, asked));
                    }
                }
                if let Some(two) = decide_slot_by_two(slot, books, limits, asked) {
                    return verdict(two);
                }
            } else if let Some(row) = rows.find_mut(fingerprint) {
                if let Content::Pair { spec, pair } = &mut row.content {
                    if !terms.number.is(*spec) {
                        break 'in_place;
                    }
                    if let Some((seen, charged)) = charge_both_at_a_glance(limits, pair, asked, elapsed_ms) {
                        drop(shard);
                        return verdict(answer_both(seen, charged, limits, asked));
                    }
                }
                if let Some(two) = decide_row(row, &terms.number, limits, asked) {
                    return verdict(two);
                }
            }
        }
        self.decide_anywhere(fingerprint, terms, asked, holder)
    }

    /// Under one limit of another kind.
    #[inline(never)]
    pub(super) fn decide_one<L: Deref<Target = [Limit]>>(
        &self,
        fingerprint: Fingerprint,
        terms: &PreparedLimits<L>,
        asked: (u64, u64),
        holder: u64,
    ) -> Verdict {
        let limit = &terms.first;
        let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
        let Shard { slots, books, .. } = &mut *shard;
        if let Some(slot) = slots.find_mut(fingerprint)
            && let Some(decision) = decide_slot(slot, books, (&terms.number, limit), asked)
        {
            return verdict(asked.0, decision);
        }
        drop(shard);
        self.decide_anywhere(fingerprint, terms, asked, holder)
    }
}

/// Under one limit of any kind, in a slot.
#[inline(never)]
fn decide_slot(
    slot: &mut Slot,
    books: &mut Books,
    (number, limit): (&Number, &Limit),
    asked: (u64, u64),
) -> Option<Decision> {
    match &mut slot.holding {
        Holding::Packed { spec, cell } => {
            if asked.0 > MAX_TIME_MS || !number.is(*spec) {
                return None;
            }
            decide_cell(limit, cell, asked)
        }
        Holding::Heap(subject) => subject.decide_one_in_place(books, limit, asked),
    }
}

/// Under two limits, in a row; the number of a pair is right.
#[inline(never)]
fn decide_row(
    row: &mut Row,
    number: &Number,
    limits: (&Limit, &Limit),
    asked: (u64, u64),
) -> Option<[Decision; 2]> {
    match &mut row.content {
        Content::Pair { pair, .. } => decide_both(limits, pair, asked),
        Content::Cells { spec, cells: [first, second, _] } if number.is(*spec) => {
            decide_two_cells(limits, (first, second), asked)
        }
        _ => None,
    }
}

/// Under two limits, in a slot; the number of a packed one is right.
#[inline(never)]
fn decide_slot_by_two(
    slot: &mut Slot,
    books: &mut Books,
    limits: (&Limit, &Limit),
    asked: (u64, u64),
) -> Option<[Decision; 2]> {
    match &mut slot.holding {
        Holding::Packed { cell, .. } => decide_both(limits, cell, asked),
        Holding::Heap(subject) => subject.decide_two_in_place(books, limits, asked),
    }
}

/// In a log that may need more places for its entries.
#[inline(never)]
fn decide_growing(
    books: &mut Books,
    spec: Option<&Spec>,
    mut log: NarrowLog<'_>,
    denied: &mut bool,
    (now_ms, cost): (u64, u64),
) -> Option<Decision> {
    let spec = spec?;
    let before = log.ring.heap_bytes();
    if books.is_tight(most_growth(before)) {
        return None;
    }
    let decision = decide_one(&mut log, spec.first(), Attempt { now_ms, cost, holder: 0 });
    note(denied, cost, &decision);
    let after = log.ring.heap_bytes();
    if after != before {
        let [before, after] = [before, after].map(|bytes| Footprint::heap(allocated(bytes)));
        books.change(spec.group, before, after);
    }
    Some(decision)
}

/// Remembers whether the last answer was a refusal.
#[inline(always)]
fn note(denied: &mut bool, cost: u64, decision: &Decision) {
    if cost != 0 {
        *denied = decision.outcome != Outcome::Fits;
    }
}
