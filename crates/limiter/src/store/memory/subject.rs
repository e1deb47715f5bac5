//! Everything that is remembered of one subject.

use slidegate_core::{
    Ask, Attempt, Decision, History, Holder, Limit, LimitId, MAX_TIME_MS, Outcome, Receipt, Spent, State,
    Verdict, decide, decide_two, judge,
};
use smallvec::{SmallVec, smallvec};

use super::books::Books;
use super::registry::Registry;
use super::room::NoRoom;
use super::slot::Pack;
use crate::store::{MAX_LIMITS, SettleOutcome};

/// What the allocator needs beside the bytes that were asked for.
pub(super) const ALLOCATION_BYTES: usize = 16;
/// The first four holders of an in-flight limit; a log begins with less.
const FIRST_RING: usize = 4 * size_of::<Holder>();
/// The first four spent permits.
const FIRST_SPENT: usize = 4 * size_of::<(u64, u64)>();

/// The limits of one subject and the permits of it that were spent.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) group: u8,
    pub(super) denied: bool,
    /// Bytes on the heap, as the shard's books have them.
    pub(super) booked: u32,
    pub(super) tracked: SmallVec<[Tracked; 1]>,
    pub(super) spent: Spent,
}

/// One limit as it was last applied, and what it remembers.
#[derive(Debug)]
pub(super) struct Tracked {
    pub(super) limit: Limit,
    pub(super) state: State,
}

/// Where a permit was recorded on one subject.
type Receipts = [(LimitId, Receipt)];

/// How full a subject is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fill {
    /// Thousandths of the quota in use, under the limit that is closest to it.
    pub(super) permille: u64,
    /// Units in use.
    pub(super) units: u64,
    /// When it will be as if never seen.
    pub(super) reset_after_ms: u64,
}

impl Fill {
    pub(super) const EMPTY: Self = Self { permille: 0, units: 0, reset_after_ms: 0 };

    /// How full a state is under its limit.
    pub(super) fn of(limit: &Limit, state: &mut State, now_ms: u64) -> Self {
        let standing = state.standing(limit, now_ms);
        let units = limit.ceiling() - standing.remaining;
        Self { permille: units * 1_000 / limit.ceiling(), units, reset_after_ms: standing.reset_after_ms }
    }

    fn and(self, other: Self) -> Self {
        Self {
            permille: self.permille.max(other.permille),
            units: self.units + other.units,
            reset_after_ms: self.reset_after_ms.max(other.reset_after_ms),
        }
    }
}

impl Subject {
    pub(super) fn new(group: u8) -> Self {
        Self { group, denied: false, booked: 0, tracked: SmallVec::new(), spent: Spent::default() }
    }

    pub(super) fn with(group: u8, limit: &Limit, state: State) -> Self {
        Self { tracked: smallvec![Tracked { limit: *limit, state }], ..Self::new(group) }
    }

    /// Decides under one limit if that is lined up, needs no id, and memory is not scarce; otherwise `None`, and nothing
    /// changed.
    #[inline(never)]
    pub(super) fn decide_one_in_place(
        &mut self,
        books: &mut Books,
        limit: &Limit,
        (now_ms, cost): (u64, u64),
    ) -> Option<Decision> {
        let Tracked { limit: known, state } = self.tracked.first_mut()?;
        if known != limit || limit.needs_id() || now_ms > MAX_TIME_MS {
            return None;
        }
        let before = state.heap_bytes();
        if books.is_tight(most_growth(before)) {
            return None;
        }
        let decision = state.decide(limit, Attempt { now_ms, cost, holder: 0 });
        let fits = decision.outcome == Outcome::Fits;
        let grew = fits && state.heap_bytes() != before;
        self.note(cost, fits);
        if grew {
            self.rebook(books);
        }
        Some(decision)
    }

    /// The same for two limits.
    #[inline(always)]
    pub(super) fn decide_two_in_place(
        &mut self,
        books: &mut Books,
        [one, two]: [&Limit; 2],
        (now_ms, cost): (u64, u64),
    ) -> Option<[Decision; 2]> {
        let [first, second, ..] = self.tracked.as_mut_slice() else { return None };
        if first.limit != *one
            || second.limit != *two
            || one.needs_id()
            || two.needs_id()
            || now_ms > MAX_TIME_MS
        {
            return None;
        }
        if books.is_tight(most_growth(first.state.heap_bytes()) + most_growth(second.state.heap_bytes())) {
            return None;
        }
        let may_grow = first.state.may_grow(one) | second.state.may_grow(two);
        let first = Ask { limit: one, cost, holder: 0, state: &mut first.state };
        let second = Ask { limit: two, cost, holder: 0, state: &mut second.state };
        let decisions = decide_two(&mut [first, second], now_ms);
        let fit = decisions.iter().all(|decision| decision.outcome == Outcome::Fits);
        self.note(cost, fit);
        if may_grow && fit {
            self.rebook(books);
        }
        Some(decisions)
    }

    /// Decides under all of these limits, which are lined up.
    pub(super) fn decide(&mut self, limits: &[Limit], attempt: Attempt) -> Verdict {
        let verdict = decide(&mut self.asks(limits, attempt), attempt.now_ms);
        self.note(attempt.cost, verdict.is_allowed());
        verdict
    }

    /// What [`Subject::decide`] would answer, without a charge.
    pub(super) fn judge(&mut self, limits: &[Limit], attempt: Attempt) -> Verdict {
        judge(&mut self.asks(limits, attempt), attempt.now_ms)
    }

    /// Remembers whether the last answer was a refusal.
    #[inline(always)]
    pub(super) fn note(&mut self, cost: u64, allowed: bool) {
        if cost != 0 {
            self.denied = !allowed;
        }
    }

    fn asks<'a>(&'a mut self, limits: &'a [Limit], attempt: Attempt) -> SmallVec<[Ask<'a>; 4]> {
        let Attempt { cost, holder, .. } = attempt;
        let pairs = limits.iter().zip(&mut self.tracked);
        pairs.map(|(limit, Tracked { state, .. })| Ask { limit, cost, holder, state }).collect()
    }

    /// Whether the first states are those of these limits, with these quotas.
    #[inline(always)]
    pub(super) fn is_lined_up(&self, limits: &[Limit]) -> bool {
        limits.len() <= self.tracked.len()
            && limits.iter().zip(&self.tracked).all(|(limit, tracked)| *limit == tracked.limit)
    }

    /// Puts the states of these limits first, in their order; a limit without a history gets an empty one.
    pub(super) fn line_up(&mut self, limits: &[Limit]) {
        for (place, limit) in limits.iter().enumerate() {
            let found = self.tracked.iter().position(|tracked| tracked.limit.id() == limit.id());
            let from = found.unwrap_or_else(|| {
                self.tracked.push(Tracked { limit: *limit, state: State::new(limit) });
                self.tracked.len() - 1
            });
            self.tracked[from].limit = *limit;
            self.tracked.swap(place, from);
        }
    }

    /// Refuses more live histories than a subject may have.
    pub(super) fn check_bound(&mut self, now_ms: u64) -> Result<(), NoRoom> {
        if self.tracked.len() <= MAX_LIMITS {
            return Ok(());
        }
        Err(NoRoom { retry_after_ms: self.fill(now_ms).reset_after_ms.max(1) })
    }

    /// Whether anything of a permit is left here; a refusal if it was spent, or cannot be remembered as spent.
    pub(super) fn may_settle(
        &mut self,
        id: u64,
        receipts: &Receipts,
        now_ms: u64,
    ) -> Result<bool, SettleOutcome> {
        self.spent.prune(now_ms);
        if self.spent.contains(id) {
            return Err(SettleOutcome::AlreadySpent);
        }
        let live = self.release_ms(receipts).is_some_and(|release_ms| release_ms > now_ms);
        if live && self.spent.is_full() {
            return Err(SettleOutcome::TooManySpent);
        }
        Ok(live)
    }

    /// Replaces what a permit recorded here and remembers it as spent.
    pub(super) fn settle(&mut self, id: u64, receipts: &Receipts, cost: u64, now_ms: u64) {
        if let Some(release_ms) = self.release_ms(receipts) {
            self.spent.insert(id, release_ms);
        }
        for (limit, receipt) in receipts {
            if let Some(tracked) = self.tracked.iter_mut().find(|t| t.limit.id() == *limit) {
                tracked.state.settle(&tracked.limit, receipt, cost, now_ms);
            }
        }
    }

    /// When all that a permit recorded here has left its windows.
    fn release_ms(&self, receipts: &Receipts) -> Option<u64> {
        let tracked = |id: LimitId| self.tracked.iter().find(|t| t.limit.id() == id);
        receipts.iter().filter_map(|(id, receipt)| Some(receipt.release_ms(&tracked(*id)?.limit))).max()
    }

    /// Forgets what has no effect any more and tells how full the rest is.
    pub(super) fn fill(&mut self, now_ms: u64) -> Fill {
        self.spent.prune(now_ms);
        let fills = self.tracked.iter_mut().map(|t| Fill::of(&t.limit, &mut t.state, now_ms));
        fills.fold(Fill::EMPTY, Fill::and)
    }

    /// Drops histories that are as if never seen.
    pub(super) fn drop_idle(&mut self, now_ms: u64) {
        self.tracked.retain(|t| Fill::of(&t.limit, &mut t.state, now_ms) != Fill::EMPTY);
    }

    /// Whether a request under these limits can be decided where the subject is: they are lined up, and there is memory
    /// to grow.
    pub(super) fn is_ready(&self, books: &Books, limits: &[Limit]) -> bool {
        let has_room = |growth| growth == 0 || books.has_heap_room(self.group, growth);
        self.is_lined_up(limits) && has_room(self.growth())
    }

    /// The most bytes that recording another cost may take.
    pub(super) fn growth(&self) -> usize {
        self.tracked.iter().map(|tracked| growth(&tracked.limit, &tracked.state)).sum()
    }

    /// Whether it goes into a slot.
    pub(super) fn is_packable(&self, registry: &Registry) -> bool {
        self.packable().is_some_and(|(limit, ..)| registry.number(self.group, limit).is_some())
    }

    /// Whether it goes into a slot, and still will after an admission.
    pub(super) fn stays_packed(&self, registry: &Registry, limits: &[Limit], attempt: Attempt) -> bool {
        let ([tracked], [limit]) = (self.tracked.as_slice(), limits) else { return false };
        // What fits into a slot is a few words to copy.
        self.is_packable(registry) && {
            let mut state = tracked.state.clone();
            state.decide(limit, attempt);
            state.pack().is_some()
        }
    }

    /// The bytes that it holds on the heap as it stands in the table.
    pub(super) fn held_bytes(&self, registry: &Registry) -> usize {
        if self.is_packable(registry) { 0 } else { self.heap_bytes() }
    }

    /// The most bytes that it takes once a permit is settled: to remember that, and for a count that outgrows its entry.
    pub(super) fn settled_bytes(&self, cost: u64) -> usize {
        let spent_bytes = self.spent.heap_bytes();
        let has_place = self.spent.iter().count() * size_of::<(u64, u64)>() < spent_bytes;
        let remembered = if has_place { 0 } else { spent_bytes.max(FIRST_SPENT) + ALLOCATION_BYTES };
        let states = self.tracked.iter().map(|tracked| tracked.state.heap_bytes());
        let widened = if cost > u64::from(u16::MAX) { 2 * states.sum::<usize>() } else { 0 };
        self.heap_bytes() + remembered + widened
    }

    /// Brings the books up to date after a decision.
    #[cold]
    pub(super) fn rebook(&mut self, books: &mut Books) {
        let bytes = self.heap_bytes();
        if bytes != self.booked as usize {
            self.book(books, bytes);
        }
    }

    /// Enters this many bytes into the books.
    pub(super) fn book(&mut self, books: &mut Books, bytes: usize) {
        books.move_heap(self.group, self.booked as usize, bytes);
        self.booked = u32::try_from(bytes).unwrap_or(u32::MAX);
    }

    /// Bytes on the heap, its own box included.
    #[inline(always)]
    pub(super) fn heap_bytes(&self) -> usize {
        let mut bytes = size_of::<Self>() + ALLOCATION_BYTES;
        for tracked in &self.tracked {
            bytes += allocated(tracked.state.heap_bytes());
        }
        if self.tracked.spilled() {
            bytes += allocated(self.tracked.capacity() * size_of::<Tracked>());
        }
        bytes + allocated(self.spent.heap_bytes())
    }

    /// The packed form, if it is small enough: the limit, the time of its last write and the rest.
    pub(super) fn packable(&self) -> Option<(&Limit, u64, u64)> {
        match self.tracked.as_slice() {
            [Tracked { limit, state }] if self.spent.is_empty() => {
                state.pack().map(|(last_ms, payload)| (limit, last_ms, payload))
            }
            _ => None,
        }
    }
}

/// The most bytes that recording another cost may take. A full ring doubles.
fn growth(limit: &Limit, state: &State) -> usize {
    let has_place = match state {
        State::InFlight(holders) => {
            holders.holders().size_hint().0 * size_of::<Holder>() < state.heap_bytes()
        }
        _ => !state.may_grow(limit),
    };
    if has_place {
        return 0;
    }
    if limit.quota() > u64::from(u16::MAX) {
        return most_growth(state.heap_bytes());
    }
    state.heap_bytes().max(FIRST_RING) + ALLOCATION_BYTES
}

/// The same whatever the limit: where counts outgrow their entries, every entry gets nearly three times as large.
#[inline(always)]
fn most_growth(heap_bytes: usize) -> usize {
    2 * heap_bytes + FIRST_RING + ALLOCATION_BYTES
}

#[inline(always)]
fn allocated(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { bytes + ALLOCATION_BYTES }
}
