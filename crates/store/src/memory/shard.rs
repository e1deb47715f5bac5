//! Shard: the part of the store behind one lock, with two tables and a memory budget.

use slidegate_core::{Attempt, Limit, Outcome, Verdict};
use smallvec::SmallVec;

use super::budget::{Budget, Footprint};
use super::eviction::OutOfMemory;
use super::interner::Interner;
use super::layout::{Layout, TableItem};
use super::row::Row;
use super::slot::{SLOT_BYTES, Slot, SlotContent};
use super::subject::SubjectState;
use super::table::Table;
use crate::fingerprint::Fingerprint;
use crate::key::Space;

/// Maximum number of slots of a shard: moving them takes well under a millisecond, however large
/// the store.
const MAX_BUCKETS: usize = 8_192;
/// Size of a shard: a full table of slots, and a fifth of the shard for rows and the heap.
pub(super) const SHARD_BYTES: usize = SLOT_BYTES * MAX_BUCKETS / 4 * 5;

#[derive(Debug)]
pub(super) struct Shard {
    pub(super) slots: Table<Slot>,
    pub(super) rows: Table<Row>,
    pub(super) budget: Budget,
    pub(super) sweep_at: usize,
    pub(super) random: u64,
    pub(super) stats: ShardStats,
}

/// Effects of the memory bound.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct ShardStats {
    pub(super) forgotten_keys: u64,
    pub(super) forgotten_units: u64,
    pub(super) refused_for_room: u64,
}

/// Charge to one subject.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubjectCharge<'a> {
    pub(super) space: Space,
    pub(super) limits: &'a [Limit],
    pub(super) attempt: Attempt,
}

impl Shard {
    pub(super) fn new(max_bytes: usize, random: u64) -> Self {
        Self {
            slots: Table::default(),
            rows: Table::default(),
            budget: Budget::new(max_bytes),
            sweep_at: 0,
            random: random | 1,
            stats: ShardStats::default(),
        }
    }

    /// Decides a request on one subject.
    #[inline(never)]
    pub(super) fn decide(
        &mut self,
        interner: &Interner,
        fingerprint: Fingerprint,
        charge: SubjectCharge<'_>,
    ) -> Verdict {
        if let Some(Slot { content: SlotContent::Heap(subject), .. }) = self.slots.find_mut(fingerprint)
            && subject.is_ready(&self.budget, charge.limits)
        {
            let verdict = subject.decide(charge.limits, charge.attempt);
            subject.update_budget(&mut self.budget);
            return verdict;
        }
        match self.take_out(interner, fingerprint) {
            Some(subject) => self.decide_outside(interner, fingerprint, subject, charge),
            None => self.decide_new(interner, fingerprint, charge),
        }
    }

    /// Decides on a subject that is not in the table. It is inserted only if it is admitted and
    /// fits.
    #[inline(never)]
    fn decide_new(
        &mut self,
        interner: &Interner,
        fingerprint: Fingerprint,
        charge: SubjectCharge<'_>,
    ) -> Verdict {
        let SubjectCharge { space, limits, attempt } = charge;
        let mut subject = SubjectState::new(interner.group(space));
        subject.align(limits);
        let evaluated = subject.evaluate(limits, attempt);
        if attempt.cost == 0 || limits.is_empty() || !evaluated.is_allowed() {
            return evaluated;
        }
        let verdict = subject.decide(limits, attempt);
        let footprint = subject.footprint(subject.layout(interner));
        if let Err(out_of_memory) = self.reserve_memory(interner, &mut subject, footprint, attempt.now_ms) {
            return refuse(evaluated, out_of_memory);
        }
        self.insert(interner, fingerprint, subject);
        verdict
    }

    /// Decides with the subject out of its table: it may need another layout, or more memory.
    #[inline(never)]
    fn decide_outside(
        &mut self,
        interner: &Interner,
        fingerprint: Fingerprint,
        mut subject: SubjectState,
        SubjectCharge { limits, attempt, .. }: SubjectCharge<'_>,
    ) -> Verdict {
        let original = subject.small_copy();
        subject.drop_idle(attempt.now_ms);
        let limits_before: SmallVec<[Limit; 1]> = subject.limits().copied().collect();
        subject.align(limits);
        let mut verdict = subject.evaluate(limits, attempt);
        if attempt.cost == 0 {
            subject.restore(&limits_before);
        } else if !verdict.is_allowed() {
            // A denial writes nothing, and needs no memory.
            subject.set_denied(attempt.cost, false);
        } else {
            let footprint = subject.footprint_after(interner, attempt);
            let reserved = subject
                .check_bound(attempt.now_ms)
                .and_then(|()| self.reserve_memory(interner, &mut subject, footprint, attempt.now_ms));
            verdict = match reserved {
                Ok(()) => subject.decide(limits, attempt),
                Err(out_of_memory) => refuse(verdict, out_of_memory),
            };
        }
        self.put_back(interner, fingerprint, (subject, original), attempt.now_ms);
        verdict
    }

    /// Makes space for the footprint of a subject outside the tables, and adds it to the budget.
    pub(super) fn reserve_memory(
        &mut self,
        interner: &Interner,
        subject: &mut SubjectState,
        footprint: Footprint,
        now_ms: u64,
    ) -> Result<(), OutOfMemory> {
        self.make_space(interner, subject.group, footprint.beyond(subject.budgeted), now_ms)?;
        subject.set_footprint(&mut self.budget, footprint.or(subject.budgeted));
        Ok(())
    }

    /// Takes a subject out of its table. Its share of the budget stays until [`Shard::put_back`].
    pub(super) fn take_out(&mut self, interner: &Interner, fingerprint: Fingerprint) -> Option<SubjectState> {
        if let Some(bucket) = self.slots.find(fingerprint) {
            let slot = self.slots.remove(bucket)?;
            return SubjectState::from_slot(interner, slot.content);
        }
        let bucket = self.rows.find(fingerprint)?;
        let row = self.rows.remove(bucket)?;
        SubjectState::from_row(interner, row.content)
    }

    /// Puts a subject into a table, unless it is idle.
    ///
    /// A clock repair can make a small subject larger even if nothing was admitted. Without memory
    /// for that, the original is put back, and repaired at the next request.
    pub(super) fn put_back(
        &mut self,
        interner: &Interner,
        fingerprint: Fingerprint,
        (mut subject, original): (SubjectState, Option<SubjectState>),
        now_ms: u64,
    ) {
        subject.drop_idle(now_ms);
        if subject.is_empty() {
            return subject.set_footprint(&mut self.budget, Footprint::NONE);
        }
        let more = subject.footprint(subject.budgeted_layout(interner)).beyond(subject.budgeted);
        match original {
            Some(original)
                if more != Footprint::NONE && self.budget.shortage(subject.group, more).is_some() =>
            {
                let (denied, budgeted) = (subject.denied, subject.budgeted);
                self.insert(interner, fingerprint, SubjectState { denied, budgeted, ..original });
            }
            _ => self.insert(interner, fingerprint, subject),
        }
    }

    /// Inserts a subject within its budgeted footprint, and returns the rest to the budget.
    pub(super) fn insert(
        &mut self,
        interner: &Interner,
        fingerprint: Fingerprint,
        mut subject: SubjectState,
    ) {
        let layout = subject.budgeted_layout(interner);
        if layout == Layout::Heap {
            subject.limit_states.shrink_to_fit();
        }
        let footprint = subject.footprint(layout);
        subject.set_footprint(&mut self.budget, footprint);
        match subject.into_item(interner, layout) {
            TableItem::Slot(content) => self.slots.insert(Slot { fingerprint, content }),
            TableItem::Row(content) => self.rows.insert(Row { fingerprint, content }),
        }
        self.budget.slot_buckets = self.slots.buckets();
        self.budget.row_buckets = self.rows.buckets();
    }
}

/// Denial for lack of memory, of limits that would admit.
pub(super) fn refuse(mut verdict: Verdict, out_of_memory: OutOfMemory) -> Verdict {
    for decision in verdict.decisions.iter_mut().filter(|decision| decision.outcome == Outcome::Fits) {
        decision.outcome = Outcome::RetryAfter(out_of_memory.retry_after_ms);
    }
    verdict
}
