//! Room for newcomers under a bound: what is dead goes for free, then the emptiest of a small sample.

use slidegate_core::{Attempt, Limit, Log, MAX_TIME_MS, NarrowLog, State};

use super::budget::{Books, Footprint, Resource};
use super::cell::Cell;
use super::counter_pair::Both;
use super::fullness::Fill;
use super::interner::Registry;
use super::row::{Content, Row};
use super::shard::Shard;
use super::slot::{Holding, Slot};
use crate::fingerprint::Fingerprint;

/// How many places a newcomer that finds no room looks at.
const SAMPLE: usize = 24;
/// How many places are passed in the search for subjects that hold memory on the heap.
const PASSED: usize = 256;
/// The most subjects that are forgotten for one request.
const VICTIMS: usize = 4;
/// How many places every newcomer cleans, so that dead slots go faster than new ones come.
const SWEEP: usize = 4;
/// A subject at or above half of its quota is never forgotten.
const PROTECTED_PERMILLE: u64 = 500;

/// No room: when to try again, since by then something that was seen will be gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NoRoom {
    pub(super) retry_after_ms: u64,
}

/// What a look at one place of the table found.
#[derive(Clone, Copy)]
struct Seen {
    fingerprint: Fingerprint,
    group: u8,
    fill: Fill,
    /// As if never seen.
    dead: bool,
    may_go: bool,
}

impl Shard {
    /// Makes room for this much more of a group, or says when to come back.
    pub(super) fn make_room(
        &mut self,
        registry: &Registry,
        group: u8,
        more: Footprint,
        now_ms: u64,
    ) -> Result<(), NoRoom> {
        if more.slots + more.rows > 0 {
            self.sweep(registry, now_ms);
        }
        if self.books.lacks(group, more).is_none() {
            return Ok(());
        }
        self.evict(registry, group, more, now_ms)
    }

    /// Looks at a few places in turn and drops what is dead.
    fn sweep(&mut self, registry: &Registry, now_ms: u64) {
        for _ in 0..SWEEP.min(self.places()) {
            let place = self.sweep_at % self.places();
            self.sweep_at = place + 1;
            if self.look_at(registry, place, now_ms).is_some_and(|seen| seen.dead) {
                self.remove_at(registry, place);
            }
        }
    }

    #[cold]
    fn evict(
        &mut self,
        registry: &Registry,
        group: u8,
        mut more: Footprint,
        now_ms: u64,
    ) -> Result<(), NoRoom> {
        let mut retry_after_ms = u64::MAX;
        for _ in 0..VICTIMS {
            let Some(part) = self.books.lacks(group, more) else { return Ok(()) };
            let victim = self.emptiest(registry, (group, more, part), now_ms, &mut retry_after_ms);
            if self.books.lacks(group, more) != Some(part) {
                continue;
            }
            let Some(victim) = victim else { break };
            self.stats.forgotten_keys += 1;
            self.stats.forgotten_units = self.stats.forgotten_units.saturating_add(victim.fill.units);
            // Looked up again: what was dead and removed since may have moved it.
            self.forget(registry, victim.fingerprint);
            // Its place is there to be taken, whatever share of them the group holds.
            match part {
                Resource::Slots => more.slots = 0,
                Resource::Rows => more.rows = 0,
                Resource::Heap => {}
            }
        }
        if self.books.lacks(group, more).is_none() {
            return Ok(());
        }
        self.stats.refused_for_room += 1;
        let retry_after_ms = if retry_after_ms == u64::MAX { 1 } else { retry_after_ms.max(1) };
        Err(NoRoom { retry_after_ms })
    }

    /// The emptiest of a sample of what may be forgotten. What is dead in it goes, until there is enough of the part.
    fn emptiest(
        &mut self,
        registry: &Registry,
        (group, more, part): (u8, Footprint, Resource),
        now_ms: u64,
        retry_after_ms: &mut u64,
    ) -> Option<Seen> {
        // A group that holds nothing takes from anyone; otherwise each makes room among its own.
        let any_group = self.books.is_without(group, part);
        let mut emptiest: Option<Seen> = None;
        let start = self.random_below(self.places());
        let (mut looked, mut passed) = (0, 0);
        while looked < SAMPLE && passed < PASSED {
            passed += 1;
            let place = match part {
                Resource::Slots => self.random_below(self.slots.places()),
                Resource::Rows => self.slots.places() + self.random_below(self.rows.places()),
                Resource::Heap => (start + passed) % self.places().max(1),
            };
            if part == Resource::Heap && !self.is_on_heap(place) {
                continue;
            }
            looked += 1;
            let Some(seen) = self.look_at(registry, place, now_ms) else { continue };
            if seen.dead {
                self.remove_at(registry, place);
                if self.books.lacks(group, more) != Some(part) {
                    return None;
                }
                continue;
            }
            *retry_after_ms = seen.fill.reset_after_ms.min(*retry_after_ms);
            let eligible = seen.may_go && (any_group || seen.group == group);
            if eligible && emptiest.is_none_or(|best| seen.fill.permille < best.fill.permille) {
                emptiest = Some(seen);
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

    /// The places of both tables, the slots' first.
    fn places(&self) -> usize {
        self.slots.places() + self.rows.places()
    }

    fn at_mut(&mut self, place: usize) -> Option<(At<'_>, &mut Books)> {
        let at = match place.checked_sub(self.slots.places()) {
            None => self.slots.at_mut(place).map(At::Slot),
            Some(place) => self.rows.at_mut(place).map(At::Row),
        };
        at.map(|at| (at, &mut self.books))
    }

    fn is_on_heap(&mut self, place: usize) -> bool {
        match self.at_mut(place) {
            Some((At::Slot(slot), _)) => matches!(slot.holding, Holding::Heap(_)),
            Some((At::Row(row), _)) => matches!(row.content, Content::Log { .. }),
            None => false,
        }
    }

    /// How full the subject at a place is, if there is one.
    fn look_at(&mut self, registry: &Registry, place: usize, now_ms: u64) -> Option<Seen> {
        let (at, books) = self.at_mut(place)?;
        let fingerprint = at.fingerprint();
        let (group, denied, has_permits, fill) = at.fill(registry, books, now_ms)?;
        let dead = fill == Fill::EMPTY && !has_permits;
        // The permits of a subject that is forgotten are void: they give nothing back.
        let may_go = !denied && fill.permille < PROTECTED_PERMILLE;
        Some(Seen { fingerprint, group, fill, dead, may_go })
    }

    fn remove_at(&mut self, registry: &Registry, place: usize) {
        if let Some((at, _)) = self.at_mut(place) {
            let fingerprint = at.fingerprint();
            self.forget(registry, fingerprint);
        }
    }

    /// Drops a subject and strikes it out of the books.
    pub(super) fn forget(&mut self, registry: &Registry, fingerprint: Fingerprint) {
        if let Some(mut subject) = self.take_out(registry, fingerprint) {
            subject.book(&mut self.books, Footprint::NONE);
        }
    }
}

/// A subject where it is.
enum At<'a> {
    Slot(&'a mut Slot),
    Row(&'a mut Row),
}

impl At<'_> {
    fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::Slot(slot) => slot.fingerprint,
            Self::Row(row) => row.fingerprint,
        }
    }

    /// Its group, whether it was denied, whether it knows of permits, and how full it is.
    fn fill(self, registry: &Registry, books: &mut Books, now_ms: u64) -> Option<(u8, bool, bool, Fill)> {
        let filled =
            |(limit, cell): (&Limit, &Cell)| Fill::of(limit, &mut cell.unpack::<State>(limit), now_ms);
        Some(match self {
            Self::Slot(Slot { holding: Holding::Packed { spec, cell }, .. }) => {
                let spec = registry.spec(*spec)?;
                let states = spec.limits().iter().zip(cell.unpack_all(spec.limits()));
                let fills = states.map(|(limit, mut state)| Fill::of(limit, &mut state, now_ms));
                (spec.group, cell.denied(), false, fills.fold(Fill::EMPTY, Fill::and))
            }
            Self::Slot(Slot { holding: Holding::Heap(subject), .. }) => {
                let fill = subject.fill(now_ms);
                // What was forgotten may have freed memory, and the repair of a clock may have taken some.
                subject.rebook(books);
                (subject.group, subject.denied, !subject.ledger.is_empty(), fill)
            }
            Self::Row(Row { content: Content::Pair { spec, pair }, .. }) => {
                let spec = registry.spec(*spec)?;
                let states = spec.limits().iter().zip(pair.unpack_states());
                let fills = states.map(|(limit, mut state)| Fill::of(limit, &mut state, now_ms));
                (spec.group, pair.cell_mut().denied(), false, fills.fold(Fill::EMPTY, Fill::and))
            }
            Self::Row(Row { content: Content::Cells { spec, cells }, .. }) => {
                let spec = registry.spec(*spec)?;
                let fill = spec.limits().iter().zip(&*cells).map(filled).fold(Fill::EMPTY, Fill::and);
                (spec.group, cells[0].denied(), false, fill)
            }
            Self::Row(Row { content: Content::Log { spec, denied, head, ring }, .. }) => {
                let spec = registry.spec(*spec)?;
                let mut log = NarrowLog { head, ring };
                let peek = Attempt { now_ms: now_ms.min(MAX_TIME_MS), cost: 0, holder: 0 };
                let fill = if log.fits(spec.first(), peek) {
                    Fill::of(spec.first(), &mut log, now_ms)
                } else {
                    Fill::of(spec.first(), &mut Log::from_narrow(*head, ring.clone()), now_ms)
                };
                (spec.group, *denied, false, fill)
            }
        })
    }
}
