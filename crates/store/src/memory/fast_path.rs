//! Fast path: decisions on a subject in place, for each layout. If the subject is new, has other
//! limits, or may need memory that is scarce, nothing changes here and the slow path decides.

use std::ops::Deref;

use slidegate_core::{
    Attempt, Decision, FastView, Limit, MAX_TIME_MS, NarrowLog, Outcome, Verdict, decide_one,
};

use super::budget::{Budget, Footprint};
use super::bytes::{allocated, max_growth};
use super::cell::{charge_fast, decide_cell, decide_two_cells};
use super::counter_pair::{charge_both_fast, decide_both};
use super::interner::{LimitSpec, SpecNumber};
use super::row::{Row, RowContent};
use super::shard::Shard;
use super::slot::{Slot, SlotContent};
use super::{Memory, PreparedLimits};
use crate::fingerprint::Fingerprint;

#[inline(always)]
fn verdict(decided_at_ms: u64, one: Decision) -> Verdict {
    Verdict::new(decided_at_ms, [one].into())
}

/// Decision from a fast view.
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
    attempt_at: (u64, u64),
) -> [Decision; 2] {
    [answer(one, charged, limits.0, attempt_at), answer(two, charged, limits.1, attempt_at)]
}

impl Memory {
    /// Decides under one counter.
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
        'fast_path: {
            let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
            let Some(Slot { holding: SlotContent::Packed { spec, cell }, .. }) =
                shard.slots.find_mut(fingerprint)
            else {
                break 'fast_path;
            };
            if now_ms > MAX_TIME_MS || !terms.number.is(*spec) {
                break 'fast_path;
            }
            if let Some((fast_view, charged)) = charge_fast(limit, cell, (now_ms, cost), elapsed_ms) {
                drop(shard);
                return verdict(now_ms, answer(fast_view, charged, limit, (now_ms, cost)));
            }
            if let Some(decision) = decide_cell(limit, cell, (now_ms, cost)) {
                return verdict(now_ms, decision);
            }
        }
        self.decide_slow(fingerprint, terms, (now_ms, cost), 0)
    }

    /// Decides under one log.
    #[inline(always)]
    pub(super) fn decide_log<L: Deref<Target = [Limit]>>(
        &self,
        fingerprint: Fingerprint,
        terms: &PreparedLimits<L>,
        (now_ms, cost): (u64, u64),
    ) -> Verdict {
        let limit = &terms.first;
        'fast_path: {
            let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
            let Shard { slots, rows, budget, .. } = &mut *shard;
            let Some(Row { content: RowContent::Log { spec, denied, head, ring }, .. }) =
                rows.find_mut(fingerprint)
            else {
                let slot = slots.find_mut(fingerprint);
                match slot.and_then(|slot| decide_slot(slot, budget, (&terms.number, limit), (now_ms, cost)))
                {
                    Some(decision) => return verdict(now_ms, decision),
                    None => break 'fast_path,
                }
            };
            let mut log = NarrowLog { head, ring };
            let attempt = Attempt { now_ms, cost, holder: 0 };
            if now_ms > MAX_TIME_MS || !terms.number.is(*spec) || !log.fits(limit, attempt) {
                break 'fast_path;
            }
            if log.may_grow(limit) {
                match decide_growing(budget, self.interner.spec(*spec), log, denied, (now_ms, cost)) {
                    Some(decision) => return verdict(now_ms, decision),
                    None => break 'fast_path,
                }
            }
            let decision = decide_one(&mut log, limit, attempt);
            set_denied(denied, cost, &decision);
            drop(shard);
            return verdict(now_ms, decision);
        }
        self.decide_slow(fingerprint, terms, (now_ms, cost), 0)
    }

    /// Decides under two limits.
    #[inline(always)]
    pub(super) fn decide_two<L: Deref<Target = [Limit]>>(
        &self,
        fingerprint: Fingerprint,
        terms: &PreparedLimits<L>,
        attempt_at: (u64, u64),
        holder: u64,
    ) -> Verdict {
        let limits = (&terms.first, &terms.second);
        let elapsed_ms = (limits.0.elapsed_ms(attempt_at.0), limits.1.elapsed_ms(attempt_at.0));
        'fast_path: {
            let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
            let Shard { slots, rows, budget, .. } = &mut *shard;
            let verdict = |two: [Decision; 2]| Verdict::new(attempt_at.0, two.into());
            if attempt_at.0 > MAX_TIME_MS {
                break 'fast_path;
            }
            if let Some(slot) = slots.find_mut(fingerprint) {
                if let SlotContent::Packed { spec, cell } = &mut slot.holding {
                    if !terms.number.is(*spec) {
                        break 'fast_path;
                    }
                    if let Some((views, charged)) = charge_both_fast(limits, cell, attempt_at, elapsed_ms) {
                        drop(shard);
                        return verdict(answer_both(views, charged, limits, attempt_at));
                    }
                }
                if let Some(two) = decide_slot_by_two(slot, budget, limits, attempt_at) {
                    return verdict(two);
                }
            } else if let Some(row) = rows.find_mut(fingerprint) {
                if let RowContent::Pair { spec, pair } = &mut row.content {
                    if !terms.number.is(*spec) {
                        break 'fast_path;
                    }
                    if let Some((views, charged)) = charge_both_fast(limits, pair, attempt_at, elapsed_ms) {
                        drop(shard);
                        return verdict(answer_both(views, charged, limits, attempt_at));
                    }
                }
                if let Some(two) = decide_row(row, &terms.number, limits, attempt_at) {
                    return verdict(two);
                }
            }
        }
        self.decide_slow(fingerprint, terms, attempt_at, holder)
    }

    /// Decides under one limit of another kind.
    #[inline(never)]
    pub(super) fn decide_one<L: Deref<Target = [Limit]>>(
        &self,
        fingerprint: Fingerprint,
        terms: &PreparedLimits<L>,
        attempt_at: (u64, u64),
        holder: u64,
    ) -> Verdict {
        let limit = &terms.first;
        let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
        let Shard { slots, budget, .. } = &mut *shard;
        if let Some(slot) = slots.find_mut(fingerprint)
            && let Some(decision) = decide_slot(slot, budget, (&terms.number, limit), attempt_at)
        {
            return verdict(attempt_at.0, decision);
        }
        drop(shard);
        self.decide_slow(fingerprint, terms, attempt_at, holder)
    }
}

/// Decides under one limit of any kind, in a slot.
#[inline(never)]
fn decide_slot(
    slot: &mut Slot,
    budget: &mut Budget,
    (number, limit): (&SpecNumber, &Limit),
    attempt_at: (u64, u64),
) -> Option<Decision> {
    match &mut slot.holding {
        SlotContent::Packed { spec, cell } => {
            if attempt_at.0 > MAX_TIME_MS || !number.is(*spec) {
                return None;
            }
            decide_cell(limit, cell, attempt_at)
        }
        SlotContent::Heap(subject) => subject.decide_one_on_heap(budget, limit, attempt_at),
    }
}

/// Decides under two limits, in a row; the caller has checked the number of a pair.
#[inline(never)]
fn decide_row(
    row: &mut Row,
    number: &SpecNumber,
    limits: (&Limit, &Limit),
    attempt_at: (u64, u64),
) -> Option<[Decision; 2]> {
    match &mut row.content {
        RowContent::Pair { pair, .. } => decide_both(limits, pair, attempt_at),
        RowContent::Cells { spec, cells: [first, second, _] } if number.is(*spec) => {
            decide_two_cells(limits, (first, second), attempt_at)
        }
        _ => None,
    }
}

/// Decides under two limits, in a slot; the caller has checked the number of a packed one.
#[inline(never)]
fn decide_slot_by_two(
    slot: &mut Slot,
    budget: &mut Budget,
    limits: (&Limit, &Limit),
    attempt_at: (u64, u64),
) -> Option<[Decision; 2]> {
    match &mut slot.holding {
        SlotContent::Packed { cell, .. } => decide_both(limits, cell, attempt_at),
        SlotContent::Heap(subject) => subject.decide_two_on_heap(budget, limits, attempt_at),
    }
}

/// Decides in a log that may have to grow.
#[inline(never)]
fn decide_growing(
    budget: &mut Budget,
    spec: Option<&LimitSpec>,
    mut log: NarrowLog<'_>,
    denied: &mut bool,
    (now_ms, cost): (u64, u64),
) -> Option<Decision> {
    let spec = spec?;
    let before = log.ring.heap_bytes();
    if budget.is_tight(max_growth(before)) {
        return None;
    }
    let decision = decide_one(&mut log, spec.first(), Attempt { now_ms, cost, holder: 0 });
    set_denied(denied, cost, &decision);
    let after = log.ring.heap_bytes();
    if after != before {
        let [before, after] = [before, after].map(|bytes| Footprint::heap(allocated(bytes)));
        budget.change(spec.group, before, after);
    }
    Some(decision)
}

/// Records whether the last charge was denied.
#[inline(always)]
fn set_denied(denied: &mut bool, cost: u64, decision: &Decision) {
    if cost != 0 {
        *denied = decision.outcome != Outcome::Fits;
    }
}
