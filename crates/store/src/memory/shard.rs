//! A part of the store behind one lock: two tables, and their part of the memory.

use slidegate_core::{Attempt, Limit, Outcome, Verdict};

use super::budget::{Books, Footprint};
use super::eviction::NoRoom;
use super::interner::Registry;
use super::layout::{Placed, Shape};
use super::row::Row;
use super::slot::{Holding, SLOT_BYTES, Slot};
use super::subject::Subject;
use super::table::Table;
use crate::fingerprint::Fingerprint;
use crate::key::Space;

/// The size to which a shard's slots may grow: moving them then takes well under a millisecond, however large the store.
const MAX_PLACES: usize = 8_192;
/// A full table of slots, and a fifth of the shard for rows and what is on the heap.
pub(super) const SHARD_BYTES: usize = SLOT_BYTES * MAX_PLACES / 4 * 5;

#[derive(Debug)]
pub(super) struct Shard {
    pub(super) slots: Table<Slot>,
    pub(super) rows: Table<Row>,
    pub(super) books: Books,
    pub(super) sweep_at: usize,
    pub(super) random: u64,
    pub(super) stats: ShardStats,
}

/// What the bound has cost so far.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct ShardStats {
    pub(super) forgotten_keys: u64,
    pub(super) forgotten_units: u64,
    pub(super) refused_for_room: u64,
}

/// What a request asks of one subject.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand<'a> {
    pub(super) space: Space,
    pub(super) limits: &'a [Limit],
    pub(super) attempt: Attempt,
}

impl Shard {
    pub(super) fn new(budget: usize, random: u64) -> Self {
        Self {
            slots: Table::default(),
            rows: Table::default(),
            books: Books::new(budget),
            sweep_at: 0,
            random: random | 1,
            stats: ShardStats::default(),
        }
    }

    /// Decides a request on one subject.
    #[inline(never)]
    pub(super) fn decide(
        &mut self,
        registry: &Registry,
        fingerprint: Fingerprint,
        demand: Demand<'_>,
    ) -> Verdict {
        if let Some(Slot { holding: Holding::Heap(subject), .. }) = self.slots.find_mut(fingerprint)
            && subject.is_ready(&self.books, demand.limits)
        {
            let verdict = subject.decide(demand.limits, demand.attempt);
            subject.rebook(&mut self.books);
            return verdict;
        }
        match self.take_out(registry, fingerprint) {
            Some(subject) => self.decide_outside(registry, fingerprint, subject, demand),
            None => self.newcomer(registry, fingerprint, demand),
        }
    }

    /// A subject that is not in the table: it gets in only if it is admitted and there is room.
    #[inline(never)]
    fn newcomer(&mut self, registry: &Registry, fingerprint: Fingerprint, demand: Demand<'_>) -> Verdict {
        let Demand { space, limits, attempt } = demand;
        let mut subject = Subject::new(registry.group(space));
        subject.line_up(limits);
        let evaluated = subject.evaluate(limits, attempt);
        if attempt.cost == 0 || limits.is_empty() || !evaluated.is_allowed() {
            return evaluated;
        }
        let verdict = subject.decide(limits, attempt);
        let footprint = subject.footprint(subject.shape(registry));
        if let Err(no_room) = self.set_aside(registry, &mut subject, footprint, attempt.now_ms) {
            return refuse(evaluated, no_room);
        }
        self.insert(registry, fingerprint, subject);
        verdict
    }

    /// Decides with the subject out of its table: it may need another place than it had, or more memory.
    #[inline(never)]
    fn decide_outside(
        &mut self,
        registry: &Registry,
        fingerprint: Fingerprint,
        mut subject: Subject,
        Demand { limits, attempt, .. }: Demand<'_>,
    ) -> Verdict {
        let original = subject.small_copy();
        subject.drop_idle(attempt.now_ms);
        let terms = subject.terms();
        subject.line_up(limits);
        let mut verdict = subject.evaluate(limits, attempt);
        if attempt.cost == 0 {
            subject.restore(&terms);
        } else if !verdict.is_allowed() {
            // Nothing is written, so nothing is needed.
            subject.note(attempt.cost, false);
        } else {
            let footprint = subject.footprint_after(registry, attempt);
            let room = subject.check_bound(attempt.now_ms);
            let room = room.and_then(|()| self.set_aside(registry, &mut subject, footprint, attempt.now_ms));
            verdict = match room {
                Ok(()) => subject.decide(limits, attempt),
                Err(no_room) => refuse(verdict, no_room),
            };
        }
        self.put_back(registry, fingerprint, (subject, original), attempt.now_ms);
        verdict
    }

    /// Makes room for what a subject outside the tables may take, beside what is booked for it, and books that too.
    pub(super) fn set_aside(
        &mut self,
        registry: &Registry,
        subject: &mut Subject,
        footprint: Footprint,
        now_ms: u64,
    ) -> Result<(), NoRoom> {
        self.make_room(registry, subject.group, footprint.beyond(subject.booked), now_ms)?;
        subject.book(&mut self.books, footprint.or(subject.booked));
        Ok(())
    }

    /// Takes a subject out of its table; what is booked for it stays so until [`Shard::put_back`].
    pub(super) fn take_out(&mut self, registry: &Registry, fingerprint: Fingerprint) -> Option<Subject> {
        if let Some(place) = self.slots.find(fingerprint) {
            let slot = self.slots.remove(place)?;
            return Subject::from_slot(registry, slot.holding);
        }
        let place = self.rows.find(fingerprint)?;
        let row = self.rows.remove(place)?;
        Subject::from_row(registry, row.content)
    }

    /// Puts a subject that was taken out, or given a place, into a table, unless it is as if never seen.
    ///
    /// The repair of a clock that was wrong can make a small subject larger though nothing was admitted. Where there is no
    /// room for that it goes back as it was, and is repaired when it is next looked at.
    pub(super) fn put_back(
        &mut self,
        registry: &Registry,
        fingerprint: Fingerprint,
        (mut subject, original): (Subject, Option<Subject>),
        now_ms: u64,
    ) {
        subject.drop_idle(now_ms);
        if subject.is_empty() {
            return subject.book(&mut self.books, Footprint::NONE);
        }
        let more = subject.footprint(subject.booked_shape(registry)).beyond(subject.booked);
        match original {
            Some(original) if more != Footprint::NONE && self.books.lacks(subject.group, more).is_some() => {
                let (denied, booked) = (subject.denied, subject.booked);
                self.insert(registry, fingerprint, Subject { denied, booked, ..original });
            }
            _ => self.insert(registry, fingerprint, subject),
        }
    }

    /// Puts a subject into the place that is booked for it, and gives back what it does not take of that.
    fn insert(&mut self, registry: &Registry, fingerprint: Fingerprint, mut subject: Subject) {
        let shape = subject.booked_shape(registry);
        if shape == Shape::Heap {
            subject.tracked.shrink_to_fit();
        }
        let footprint = subject.footprint(shape);
        subject.book(&mut self.books, footprint);
        match subject.into_place(registry, shape) {
            Placed::Slot(holding) => self.slots.insert(Slot { fingerprint, holding }),
            Placed::Row(content) => self.rows.insert(Row { fingerprint, content }),
        }
        self.books.slot_places = self.slots.places();
        self.books.row_places = self.rows.places();
    }
}

/// A refusal for want of memory, of what would have fitted.
pub(super) fn refuse(mut verdict: Verdict, no_room: NoRoom) -> Verdict {
    for decision in verdict.decisions.iter_mut().filter(|decision| decision.outcome == Outcome::Fits) {
        decision.outcome = Outcome::RetryAfter(no_room.retry_after_ms);
    }
    verdict
}
