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
pub(super) fn answer(
    fast_view: FastView,
    charged: bool,
    limit: &Limit,
    (now_ms, cost): (u64, u64),
) -> Decision {
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
        prepared: &PreparedLimits<L>,
        (now_ms, cost): (u64, u64),
    ) -> Verdict {
        let limit = &prepared.first;
        // Before the lock: it does not depend on the key, and overlaps with the fingerprint.
        let elapsed_ms = limit.elapsed_ms(now_ms);
        'fast_path: {
            let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
            let Some(Slot { content: SlotContent::Packed { spec, cell }, .. }) =
                shard.slots.find_mut(fingerprint)
            else {
                break 'fast_path;
            };
            if now_ms > MAX_TIME_MS || !prepared.number.is(*spec) {
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
        self.decide_slow(fingerprint, prepared, (now_ms, cost), 0)
    }

    /// Decides under one log.
    #[inline(always)]
    pub(super) fn decide_log<L: Deref<Target = [Limit]>>(
        &self,
        fingerprint: Fingerprint,
        prepared: &PreparedLimits<L>,
        (now_ms, cost): (u64, u64),
    ) -> Verdict {
        let limit = &prepared.first;
        'fast_path: {
            let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
            let Shard { slots, rows, budget, .. } = &mut *shard;
            let Some(Row { content: RowContent::Log { spec, denied, head, ring }, .. }) =
                rows.find_mut(fingerprint)
            else {
                let slot = slots.find_mut(fingerprint);
                match slot
                    .and_then(|slot| decide_slot(slot, budget, (&prepared.number, limit), (now_ms, cost)))
                {
                    Some(decision) => return verdict(now_ms, decision),
                    None => break 'fast_path,
                }
            };
            let mut log = NarrowLog { head, ring };
            let attempt = Attempt { now_ms, cost, holder: 0 };
            if now_ms > MAX_TIME_MS || !prepared.number.is(*spec) || !log.fits(limit, attempt) {
                break 'fast_path;
            }
            if log.may_grow(limit) {
                match decide_growing(budget, self.interner.spec(*spec), log, denied, (now_ms, cost)) {
                    Some(decision) => return verdict(now_ms, decision),
                    None => break 'fast_path,
                }
            }
            let decision = decide_one(&mut log, limit, attempt);
            set_denied(denied, cost, decision.outcome == Outcome::Fits);
            drop(shard);
            return verdict(now_ms, decision);
        }
        self.decide_slow(fingerprint, prepared, (now_ms, cost), 0)
    }

    /// Decides under two limits.
    #[inline(always)]
    pub(super) fn decide_two<L: Deref<Target = [Limit]>>(
        &self,
        fingerprint: Fingerprint,
        prepared: &PreparedLimits<L>,
        attempt_at: (u64, u64),
        holder: u64,
    ) -> Verdict {
        let limits = (&prepared.first, &prepared.second);
        let elapsed_ms = (limits.0.elapsed_ms(attempt_at.0), limits.1.elapsed_ms(attempt_at.0));
        'fast_path: {
            let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
            let Shard { slots, rows, budget, .. } = &mut *shard;
            if attempt_at.0 > MAX_TIME_MS {
                break 'fast_path;
            }
            let mut slot = slots.find_mut(fingerprint);
            let mut row = if slot.is_none() { rows.find_mut(fingerprint) } else { None };
            let fast = match (&mut slot, &mut row) {
                (Some(Slot { content: SlotContent::Packed { spec, cell }, .. }), _)
                    if prepared.number.is(*spec) =>
                {
                    charge_both_fast(limits, cell, attempt_at, elapsed_ms)
                }
                (_, Some(Row { content: RowContent::Pair { spec, pair }, .. }))
                    if prepared.number.is(*spec) =>
                {
                    charge_both_fast(limits, pair, attempt_at, elapsed_ms)
                }
                _ => None,
            };
            if let Some((views, charged)) = fast {
                drop(shard);
                let decisions = answer_both(views, charged, limits, attempt_at);
                return Verdict::new(attempt_at.0, decisions.into());
            }
            let number = &prepared.number;
            let decisions = match (slot, row) {
                (Some(slot), _) => decide_slot_by_two(slot, budget, (number, limits), attempt_at),
                (_, Some(row)) => decide_row(row, (number, limits), attempt_at),
                _ => None,
            };
            if let Some(decisions) = decisions {
                return Verdict::new(attempt_at.0, decisions.into());
            }
        }
        self.decide_slow(fingerprint, prepared, attempt_at, holder)
    }

    /// Decides under one limit of another kind.
    #[inline(never)]
    pub(super) fn decide_one<L: Deref<Target = [Limit]>>(
        &self,
        fingerprint: Fingerprint,
        prepared: &PreparedLimits<L>,
        attempt_at: (u64, u64),
        holder: u64,
    ) -> Verdict {
        let limit = &prepared.first;
        let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
        let Shard { slots, budget, .. } = &mut *shard;
        if let Some(slot) = slots.find_mut(fingerprint)
            && let Some(decision) = decide_slot(slot, budget, (&prepared.number, limit), attempt_at)
        {
            return verdict(attempt_at.0, decision);
        }
        drop(shard);
        self.decide_slow(fingerprint, prepared, attempt_at, holder)
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
    match &mut slot.content {
        SlotContent::Packed { spec, cell } => {
            if attempt_at.0 > MAX_TIME_MS || !number.is(*spec) {
                return None;
            }
            decide_cell(limit, cell, attempt_at)
        }
        SlotContent::Heap(subject) => subject.decide_one_on_heap(budget, limit, attempt_at),
    }
}

/// Decides under two limits, in a row.
#[inline(never)]
fn decide_row(
    row: &mut Row,
    (number, limits): (&SpecNumber, (&Limit, &Limit)),
    attempt_at: (u64, u64),
) -> Option<[Decision; 2]> {
    match &mut row.content {
        RowContent::Pair { spec, pair } if number.is(*spec) => decide_both(limits, pair, attempt_at),
        RowContent::Cells { spec, cells: [first, second, _] } if number.is(*spec) => {
            decide_two_cells(limits, (first, second), attempt_at)
        }
        _ => None,
    }
}

/// Decides under two limits, in a slot.
#[inline(never)]
fn decide_slot_by_two(
    slot: &mut Slot,
    budget: &mut Budget,
    (number, limits): (&SpecNumber, (&Limit, &Limit)),
    attempt_at: (u64, u64),
) -> Option<[Decision; 2]> {
    match &mut slot.content {
        SlotContent::Packed { spec, cell } if number.is(*spec) => decide_both(limits, cell, attempt_at),
        SlotContent::Packed { .. } => None,
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
    set_denied(denied, cost, decision.outcome == Outcome::Fits);
    let after = log.ring.heap_bytes();
    if after != before {
        let [before, after] = [before, after].map(|bytes| Footprint::heap(allocated(bytes)));
        budget.change(spec.group, before, after);
    }
    Some(decision)
}

/// Records whether the last charge was denied.
#[inline(always)]
pub(super) fn set_denied(denied: &mut bool, cost: u64, is_allowed: bool) {
    if cost != 0 {
        *denied = !is_allowed;
    }
}
