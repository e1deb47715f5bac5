//! Room for newcomers under a bound: what is dead goes for free, then the emptiest of a small sample.

use slidegate_core::State;

use super::registry::Registry;
use super::shard::Shard;
use super::slot::{Holding, Pack, Slot};
use super::subject::{Fill, Subject};
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

/// What is needed: a slot for a newcomer, or memory for a subject that is out of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    Slot,
    Heap { bytes: usize },
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
    /// Makes room for a group, or says when to come back.
    pub(super) fn make_room(
        &mut self,
        registry: &Registry,
        group: u8,
        need: Need,
        now_ms: u64,
    ) -> Result<(), NoRoom> {
        if need == Need::Slot {
            self.sweep(registry, now_ms);
        }
        if self.has_room(group, need) {
            return Ok(());
        }
        self.evict(registry, group, need, now_ms)
    }

    fn has_room(&self, group: u8, need: Need) -> bool {
        match need {
            Need::Slot => self.books.has_slot_room(group),
            Need::Heap { bytes } => self.books.has_heap_room(group, bytes),
        }
    }

    /// Makes room for a subject that is about to be put into the table, if it does not fit into a slot.
    pub(super) fn make_heap_room(
        &mut self,
        registry: &Registry,
        subject: &Subject,
        now_ms: u64,
    ) -> Result<(), NoRoom> {
        if subject.is_packable(registry) {
            return Ok(());
        }
        self.make_room(registry, subject.group, Need::Heap { bytes: subject.heap_bytes() }, now_ms)
    }

    /// Looks at a few places in turn and drops what is dead.
    fn sweep(&mut self, registry: &Registry, now_ms: u64) {
        for _ in 0..SWEEP.min(self.table.places()) {
            let place = self.sweep_at % self.table.places();
            self.sweep_at = place + 1;
            if self.look_at(registry, place, now_ms).is_some_and(|seen| seen.dead) {
                self.remove_at(registry, place);
            }
        }
    }

    #[cold]
    fn evict(&mut self, registry: &Registry, group: u8, need: Need, now_ms: u64) -> Result<(), NoRoom> {
        let mut retry_after_ms = u64::MAX;
        for _ in 0..VICTIMS {
            let emptiest = self.emptiest(registry, group, need, now_ms, &mut retry_after_ms);
            if self.has_room(group, need) {
                return Ok(());
            }
            let Some(victim) = emptiest else { break };
            self.stats.forgotten_keys += 1;
            self.stats.forgotten_units = self.stats.forgotten_units.saturating_add(victim.fill.units);
            // Looked up again: what was dead and removed since may have moved it.
            if let Some(place) = self.table.find(victim.fingerprint) {
                self.remove_at(registry, place);
            }
            if need == Need::Slot || self.has_room(group, need) {
                return Ok(());
            }
        }
        self.stats.refused_for_room += 1;
        let retry_after_ms = if retry_after_ms == u64::MAX { 1 } else { retry_after_ms.max(1) };
        Err(NoRoom { retry_after_ms })
    }

    /// The emptiest of a sample of what may be forgotten. What is dead in it goes, until there is room.
    fn emptiest(
        &mut self,
        registry: &Registry,
        group: u8,
        need: Need,
        now_ms: u64,
        retry_after_ms: &mut u64,
    ) -> Option<Seen> {
        // A group that holds nothing takes from anyone; otherwise each makes room among its own.
        let any_group = self.books.is_new(group);
        let mut emptiest: Option<Seen> = None;
        let start = self.random_place();
        let (mut looked, mut passed) = (0, 0);
        while looked < SAMPLE && passed < PASSED {
            passed += 1;
            let place = match need {
                Need::Slot => self.random_place(),
                Need::Heap { .. } => (start + passed) % self.table.places().max(1),
            };
            let on_heap =
                self.table.at_mut(place).is_some_and(|slot| matches!(slot.holding, Holding::Heap(_)));
            if need != Need::Slot && !on_heap {
                continue;
            }
            looked += 1;
            let Some(seen) = self.look_at(registry, place, now_ms) else { continue };
            if seen.dead {
                self.remove_at(registry, place);
                if self.has_room(group, need) {
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

    fn random_place(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random as usize % self.table.places().max(1)
    }

    /// How full the subject at a place is, if there is one.
    fn look_at(&mut self, registry: &Registry, place: usize, now_ms: u64) -> Option<Seen> {
        let Slot { fingerprint, holding } = self.table.at_mut(place)?;
        let (group, denied, has_spent, fill) = match holding {
            Holding::Packed { spec, when, payload } => {
                let spec = registry.spec(*spec)?;
                let mut state = State::unpack(&spec.limit, when.last_ms(), *payload);
                (spec.group, when.denied(), false, Fill::of(&spec.limit, &mut state, now_ms))
            }
            Holding::Heap(subject) => {
                let fill = subject.fill(now_ms);
                (subject.group, subject.denied, !subject.spent.is_empty(), fill)
            }
        };
        let dead = fill == Fill::EMPTY && !has_spent;
        let may_go = !denied && !has_spent && fill.permille < PROTECTED_PERMILLE;
        Some(Seen { fingerprint: *fingerprint, group, fill, dead, may_go })
    }

    fn remove_at(&mut self, registry: &Registry, place: usize) {
        if let Some(slot) = self.table.remove(place) {
            self.strike(registry, &slot.holding);
        }
    }
}
