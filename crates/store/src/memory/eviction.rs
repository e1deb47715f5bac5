//! Eviction: makes space for new subjects. Idle subjects go first, then the emptiest of a small
//! sample.

use slidegate_core::{Attempt, Log, MAX_TIME_MS, NarrowLog};

use super::budget::{Budget, Footprint, ShardResource};
use super::counter_pair::CounterPair;
use super::fullness::Fullness;
use super::interner::Interner;
use super::row::{Row, RowContent};
use super::shard::Shard;
use super::slot::{Slot, SlotContent};
use crate::fingerprint::Fingerprint;

/// Sample size of an eviction.
const SAMPLE: usize = 24;
/// Maximum number of buckets that are visited in search of subjects on the heap.
const MAX_VISITS: usize = 256;
/// Maximum number of evictions for one request.
const MAX_EVICTIONS: usize = 4;
/// Buckets that every new subject sweeps, so that idle ones go faster than new ones come.
const SWEEP_BUCKETS: usize = 4;
/// A subject at or above half of its quota is never evicted.
const PROTECTED_PERMILLE: u64 = 500;

/// Memory is full. By the retry time, a subject of the sample is idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OutOfMemory {
    pub(super) retry_after_ms: u64,
}

/// Candidate for eviction: the subject in one bucket.
#[derive(Clone, Copy)]
struct EvictionCandidate {
    fingerprint: Fingerprint,
    group: u8,
    fullness: Fullness,
    /// Idle: without any state.
    dead: bool,
    may_go: bool,
}

impl Shard {
    /// Makes space for this much more of a group, or returns when to retry.
    pub(super) fn make_space(
        &mut self,
        interner: &Interner,
        group: u8,
        more: Footprint,
        now_ms: u64,
    ) -> Result<(), OutOfMemory> {
        if more.slots + more.rows > 0 {
            self.sweep(interner, now_ms);
        }
        if self.budget.shortage(group, more).is_none() {
            return Ok(());
        }
        self.evict(interner, group, more, now_ms)
    }

    /// Removes idle subjects from the next few buckets.
    pub(super) fn sweep(&mut self, interner: &Interner, now_ms: u64) {
        for _ in 0..SWEEP_BUCKETS.min(self.buckets()) {
            let bucket = self.sweep_at % self.buckets();
            self.sweep_at = bucket + 1;
            if self.candidate_at(interner, bucket, now_ms).is_some_and(|candidate| candidate.dead) {
                self.remove_at(interner, bucket);
            }
        }
    }

    #[cold]
    fn evict(
        &mut self,
        interner: &Interner,
        group: u8,
        mut more: Footprint,
        now_ms: u64,
    ) -> Result<(), OutOfMemory> {
        let mut retry_after_ms = u64::MAX;
        for _ in 0..MAX_EVICTIONS {
            let Some(part) = self.budget.shortage(group, more) else { return Ok(()) };
            let victim = self.emptiest(interner, (group, more, part), now_ms, &mut retry_after_ms);
            if self.budget.shortage(group, more) != Some(part) {
                continue;
            }
            let Some(victim) = victim else { break };
            self.stats.forgotten_keys += 1;
            self.stats.forgotten_units = self.stats.forgotten_units.saturating_add(victim.fullness.units);
            // By fingerprint: the removal of idle subjects may have moved it.
            self.forget(interner, victim.fingerprint);
            // Its bucket is free now, whatever the share of the group.
            match part {
                ShardResource::Slots => more.slots = 0,
                ShardResource::Rows => more.rows = 0,
                ShardResource::Heap => {}
            }
        }
        if self.budget.shortage(group, more).is_none() {
            return Ok(());
        }
        self.stats.refused_for_room += 1;
        let retry_after_ms = if retry_after_ms == u64::MAX { 1 } else { retry_after_ms.max(1) };
        Err(OutOfMemory { retry_after_ms })
    }

    /// Emptiest evictable subject of a sample. Removes idle subjects of the sample until there is
    /// enough of the resource.
    fn emptiest(
        &mut self,
        interner: &Interner,
        (group, more, part): (u8, Footprint, ShardResource),
        now_ms: u64,
        retry_after_ms: &mut u64,
    ) -> Option<EvictionCandidate> {
        // A group without any takes from all groups, others only from their own.
        let any_group = self.budget.has_none(group, part);
        let mut emptiest: Option<EvictionCandidate> = None;
        let start = self.random_below(self.buckets());
        let (mut sampled, mut visited) = (0, 0);
        while sampled < SAMPLE && visited < MAX_VISITS {
            visited += 1;
            let bucket = match part {
                ShardResource::Slots => self.random_below(self.slots.buckets()),
                ShardResource::Rows => self.slots.buckets() + self.random_below(self.rows.buckets()),
                ShardResource::Heap => (start + visited) % self.buckets().max(1),
            };
            if part == ShardResource::Heap && !self.is_on_heap(bucket) {
                continue;
            }
            sampled += 1;
            let Some(candidate) = self.candidate_at(interner, bucket, now_ms) else { continue };
            if candidate.dead {
                self.remove_at(interner, bucket);
                if self.budget.shortage(group, more) != Some(part) {
                    return None;
                }
                continue;
            }
            *retry_after_ms = candidate.fullness.reset_after_ms.min(*retry_after_ms);
            let eligible = candidate.may_go && (any_group || candidate.group == group);
            if eligible && emptiest.is_none_or(|best| candidate.fullness.permille < best.fullness.permille) {
                emptiest = Some(candidate);
            }
        }
        emptiest
    }

    fn random_below(&mut self, end: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random as usize % end.max(1)
    }

    /// Buckets of both tables, those of the slots first.
    fn buckets(&self) -> usize {
        self.slots.buckets() + self.rows.buckets()
    }

    fn at_mut(&mut self, bucket: usize) -> Option<(TableEntry<'_>, &mut Budget)> {
        let at = match bucket.checked_sub(self.slots.buckets()) {
            None => self.slots.at_mut(bucket).map(TableEntry::Slot),
            Some(bucket) => self.rows.at_mut(bucket).map(TableEntry::Row),
        };
        at.map(|at| (at, &mut self.budget))
    }

    fn is_on_heap(&mut self, bucket: usize) -> bool {
        match self.at_mut(bucket) {
            Some((TableEntry::Slot(slot), _)) => matches!(slot.content, SlotContent::Heap(_)),
            Some((TableEntry::Row(row), _)) => matches!(row.content, RowContent::Log { .. }),
            None => false,
        }
    }

    /// Subject in a bucket, if there is one.
    fn candidate_at(&mut self, interner: &Interner, bucket: usize, now_ms: u64) -> Option<EvictionCandidate> {
        let (at, budget) = self.at_mut(bucket)?;
        let fingerprint = at.fingerprint();
        let (group, denied, has_permits, fullness) = at.fullness(interner, budget, now_ms)?;
        let dead = fullness == Fullness::EMPTY && !has_permits;
        // The permits of an evicted subject become void.
        let may_go = !denied && fullness.permille < PROTECTED_PERMILLE;
        Some(EvictionCandidate { fingerprint, group, fullness, dead, may_go })
    }

    fn remove_at(&mut self, interner: &Interner, bucket: usize) {
        if let Some((at, _)) = self.at_mut(bucket) {
            let fingerprint = at.fingerprint();
            if let Some(mut subject) = self.take_out(interner, fingerprint) {
                subject.set_footprint(&mut self.budget, Footprint::NONE);
            }
        }
    }

    /// Removes a subject and its share of the budget, except what is on lease.
    pub(super) fn forget(&mut self, interner: &Interner, fingerprint: Fingerprint) {
        let Some(mut subject) = self.take_out(interner, fingerprint) else { return };
        subject.reset();
        if subject.is_empty() {
            subject.set_footprint(&mut self.budget, Footprint::NONE);
        } else {
            self.insert(interner, fingerprint, subject);
        }
    }
}

/// Entry of either table.
enum TableEntry<'a> {
    Slot(&'a mut Slot),
    Row(&'a mut Row),
}

impl TableEntry<'_> {
    fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::Slot(slot) => slot.fingerprint,
            Self::Row(row) => row.fingerprint,
        }
    }

    /// Group, denial mark, presence of permits, and fullness.
    fn fullness(
        self,
        interner: &Interner,
        budget: &mut Budget,
        now_ms: u64,
    ) -> Option<(u8, bool, bool, Fullness)> {
        Some(match self {
            Self::Slot(Slot { content: SlotContent::Packed { spec, cell }, .. }) => {
                let spec = interner.spec(*spec)?;
                let fullness = spec.fullness(cell.unpack_all(spec.limits()), now_ms);
                (spec.group, cell.denied(), false, fullness)
            }
            Self::Slot(Slot { content: SlotContent::Heap(subject), .. }) => {
                let fullness = subject.fullness(now_ms);
                // Expired state may have freed memory, and a clock repair may have taken some.
                subject.update_budget(budget);
                (subject.group, subject.denied, !subject.permits.is_empty(), fullness)
            }
            Self::Row(Row { content: RowContent::Pair { spec, pair }, .. }) => {
                let spec = interner.spec(*spec)?;
                let fullness = spec.fullness(pair.unpack_states(), now_ms);
                (spec.group, pair.cell_mut().denied(), false, fullness)
            }
            Self::Row(Row { content: RowContent::Cells { spec, cells }, .. }) => {
                let spec = interner.spec(*spec)?;
                let states = spec.limits().iter().zip(&*cells).map(|(limit, cell)| cell.unpack(limit));
                (spec.group, cells[0].denied(), false, spec.fullness(states, now_ms))
            }
            Self::Row(Row { content: RowContent::Log { spec, denied, head, ring }, .. }) => {
                let spec = interner.spec(*spec)?;
                let mut log = NarrowLog { head, ring };
                let peek = Attempt { now_ms: now_ms.min(MAX_TIME_MS), cost: 0, holder: 0 };
                let fullness = if log.fits(spec.first(), peek) {
                    Fullness::of(spec.first(), &mut log, now_ms)
                } else {
                    Fullness::of(spec.first(), &mut Log::from_narrow(*head, ring.clone()), now_ms)
                };
                (spec.group, *denied, false, fullness)
            }
        })
    }
}
