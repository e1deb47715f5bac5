//! Room for newcomers under a bound: what is dead goes for free, then the emptiest of a small sample.

use slidegate_core::State;

use super::registry::Registry;
use super::shard::Shard;
use super::slot::{Holding, Pack, Slot};
use super::subject::Fill;
use crate::fingerprint::Fingerprint;

/// How many places a newcomer that finds no room looks at.
const SAMPLE: usize = 24;
/// How many places every newcomer cleans, so that dead slots go faster than new ones come.
const SWEEP: usize = 4;
/// A subject at or above half of its quota is never forgotten.
const PROTECTED_PERMILLE: u64 = 500;

/// No room: when to try again, since by then something that was seen will be gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NoRoom {
    pub(super) retry_after_ms: u64,
}

/// What is needed: a slot for a newcomer, or memory for a subject that is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    Slot,
    Heap { keep: Fingerprint },
}

/// What a look at one place of the table found.
#[derive(Clone, Copy)]
struct Seen {
    place: usize,
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
            Need::Heap { .. } => self.books.has_heap_room(group),
        }
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
        // A group that holds nothing takes from anyone; otherwise each makes room among its own.
        let any_group = self.books.is_new(group);
        let mut emptiest: Option<Seen> = None;
        let mut retry_after_ms = None;
        for _ in 0..SAMPLE {
            let place = self.random_place();
            let Some(seen) = self.look_at(registry, place, now_ms) else { continue };
            if matches!(need, Need::Heap { keep } if keep == seen.fingerprint) {
                continue;
            }
            if seen.dead {
                self.remove_at(registry, place);
                if self.has_room(group, need) {
                    return Ok(());
                }
                continue;
            }
            retry_after_ms = Some(seen.fill.reset_after_ms.min(retry_after_ms.unwrap_or(u64::MAX)));
            let eligible = seen.may_go && (any_group || seen.group == group);
            if eligible && emptiest.is_none_or(|best| seen.fill.permille < best.fill.permille) {
                emptiest = Some(seen);
            }
        }
        let Some(victim) = emptiest else {
            self.stats.refused_for_room += 1;
            return Err(NoRoom { retry_after_ms: retry_after_ms.unwrap_or(1) });
        };
        self.stats.forgotten_keys += 1;
        self.stats.forgotten_units = self.stats.forgotten_units.saturating_add(victim.fill.units);
        self.remove_at(registry, victim.place);
        Ok(())
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
        Some(Seen { place, fingerprint: *fingerprint, group, fill, dead, may_go })
    }

    fn remove_at(&mut self, registry: &Registry, place: usize) {
        if let Some(slot) = self.table.remove(place) {
            self.strike(registry, &slot.holding);
        }
    }
}
