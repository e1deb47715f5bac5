//! A part of the table behind one lock, with its own part of the memory.

use slidegate_core::{Attempt, Limit, Outcome, State, Verdict};

use super::books::{Books, SLOT_BYTES};
use super::registry::Registry;
use super::room::{Need, NoRoom};
use super::slot::{Holding, Pack, Slot, When};
use super::subject::Subject;
use super::table::Table;
use crate::fingerprint::Fingerprint;
use crate::key::Space;

/// The size to which a shard's table may grow: moving it then takes well under a millisecond, however large the store.
const MAX_PLACES: usize = 8_192;
/// A full table, and a fifth of the shard for what is on the heap.
pub(super) const SHARD_BYTES: usize = SLOT_BYTES * MAX_PLACES / 4 * 5;

#[derive(Debug)]
pub(super) struct Shard {
    pub(super) table: Table,
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

/// What a request asks of one subject. Passed by value: the common path then keeps it in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand<'a> {
    pub(super) space: Space,
    pub(super) limits: &'a [Limit],
    pub(super) attempt: Attempt,
}

impl Shard {
    pub(super) fn new(budget: usize, random: u64) -> Self {
        Self {
            table: Table::default(),
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
        let Some(slot) = self.table.find_mut(fingerprint) else {
            return self.newcomer(registry, fingerprint, demand);
        };
        if let Holding::Heap(subject) = &mut slot.holding
            && subject.is_ready(&self.books, demand.limits)
        {
            let verdict = subject.decide(demand.limits, demand.attempt);
            subject.rebook(&mut self.books);
            return verdict;
        }
        self.enlarge(registry, fingerprint, demand)
    }

    /// A subject that is not in the table: it gets in only if it is admitted and there is room.
    #[inline(never)]
    fn newcomer(&mut self, registry: &Registry, fingerprint: Fingerprint, demand: Demand<'_>) -> Verdict {
        let Demand { space, limits, attempt } = demand;
        let mut subject = Subject::new(registry.group(space));
        subject.line_up(limits);
        let judged = subject.judge(limits, attempt);
        if attempt.cost == 0 || limits.is_empty() || !judged.is_allowed() {
            return judged;
        }
        let verdict = subject.decide(limits, attempt);
        let room = self.make_room(registry, subject.group, Need::Slot, attempt.now_ms);
        let room = room.and_then(|()| self.make_heap_room(registry, &subject, attempt.now_ms));
        if let Err(no_room) = room {
            return refuse(judged, no_room);
        }
        self.books.add_slot(subject.group);
        self.insert(registry, fingerprint, subject);
        verdict
    }

    /// Decides where the subject may need more memory than it has: from its slot to the heap, or on the heap when that
    /// is scarce.
    #[inline(never)]
    fn enlarge(&mut self, registry: &Registry, fingerprint: Fingerprint, demand: Demand<'_>) -> Verdict {
        let Demand { limits, attempt, .. } = demand;
        let Some(mut subject) = self.take_out(registry, fingerprint) else {
            return self.newcomer(registry, fingerprint, demand);
        };
        let held_bytes = subject.held_bytes(registry);
        subject.drop_idle(attempt.now_ms);
        subject.line_up(limits);
        let mut verdict = subject.judge(limits, attempt);
        if attempt.cost == 0 || !verdict.is_allowed() {
            // Nothing is written, so nothing is needed.
            subject.note(attempt.cost, verdict.is_allowed());
        } else {
            let room = subject.check_bound(attempt.now_ms);
            let room = room.and_then(|()| self.make_growth_room(registry, &subject, held_bytes, demand));
            verdict = match room {
                Ok(()) => subject.decide(limits, attempt),
                Err(no_room) => refuse(verdict, no_room),
            };
        }
        self.put_back(registry, fingerprint, subject, attempt.now_ms);
        verdict
    }

    /// Makes room for what an admission may take beyond the bytes that a subject held in the table.
    pub(super) fn make_growth_room(
        &mut self,
        registry: &Registry,
        subject: &Subject,
        held_bytes: usize,
        Demand { limits, attempt, .. }: Demand<'_>,
    ) -> Result<(), NoRoom> {
        let bytes = subject.heap_bytes() + subject.growth();
        if bytes <= held_bytes || subject.stays_packed(registry, limits, attempt) {
            return Ok(());
        }
        self.make_room(registry, subject.group, Need::Heap { bytes }, attempt.now_ms)
    }

    /// Takes a subject out of the table; its slot stays booked until [`Shard::put_back`].
    pub(super) fn take_out(&mut self, registry: &Registry, fingerprint: Fingerprint) -> Option<Subject> {
        let place = self.table.find(fingerprint)?;
        let slot = self.table.remove(place)?;
        match slot.holding {
            Holding::Packed { spec, when, payload } => {
                let spec = registry.spec(spec)?;
                let state = State::unpack(&spec.limit, when.last_ms(), payload);
                let mut subject = Subject::with(spec.group, &spec.limit, state);
                subject.denied = when.denied();
                Some(subject)
            }
            Holding::Heap(mut subject) => {
                subject.book(&mut self.books, 0);
                Some(*subject)
            }
        }
    }

    /// Puts a subject that was taken out, or given a slot, into the table, unless it is as if never seen.
    pub(super) fn put_back(
        &mut self,
        registry: &Registry,
        fingerprint: Fingerprint,
        mut subject: Subject,
        now_ms: u64,
    ) {
        // What was set aside for it; it is entered as what it has become.
        subject.book(&mut self.books, 0);
        subject.drop_idle(now_ms);
        if subject.tracked.is_empty() && subject.spent.is_empty() {
            self.books.remove_slot(subject.group);
        } else {
            self.insert(registry, fingerprint, subject);
        }
    }

    /// Puts a subject into the table, packed if it is small. Its slot is booked.
    fn insert(&mut self, registry: &Registry, fingerprint: Fingerprint, mut subject: Subject) {
        let packed = subject.packable().and_then(|(limit, last_ms, payload)| {
            let spec = registry.number(subject.group, limit)?;
            Some(Holding::Packed { spec, when: When::new(last_ms, subject.denied), payload })
        });
        let holding = packed.unwrap_or_else(|| {
            subject.tracked.shrink_to_fit();
            let bytes = subject.heap_bytes();
            subject.book(&mut self.books, bytes);
            Holding::Heap(Box::new(subject))
        });
        self.table.insert(Slot { fingerprint, holding });
        self.books.places = self.table.places() as u32;
    }

    /// Strikes a removed slot out of the books.
    pub(super) fn strike(&mut self, registry: &Registry, holding: &Holding) {
        let group = match holding {
            Holding::Packed { spec, .. } => registry.spec(*spec).map_or(0, |spec| spec.group),
            Holding::Heap(subject) => {
                self.books.move_heap(subject.group, subject.booked as usize, 0);
                subject.group
            }
        };
        self.books.remove_slot(group);
    }
}

/// A refusal for want of memory, of what would have fitted.
pub(super) fn refuse(mut verdict: Verdict, no_room: NoRoom) -> Verdict {
    for decision in verdict.decisions.iter_mut().filter(|decision| decision.outcome == Outcome::Fits) {
        decision.outcome = Outcome::RetryAfter(no_room.retry_after_ms);
    }
    verdict
}
