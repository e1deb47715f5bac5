//! Where the subjects of a shard are, by a part of who they are. Read without the shard's lock, changed only under it.

use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::Relaxed;

use super::who::Who;

/// Many more than there are places, so that few subjects share one.
const CELLS: usize = 512;
const PLACE_BITS: u32 = 8;
/// Not a place.
const NOWHERE: u16 = (1 << PLACE_BITS) - 1;
const ONE: u16 = 1 << PLACE_BITS;

/// Each is how many subjects share it, and the place of one of them.
#[derive(Debug)]
pub(super) struct Cells([AtomicU16; CELLS]);

impl Cells {
    pub(super) fn new() -> Self {
        Self([const { AtomicU16::new(NOWHERE) }; CELLS])
    }

    #[inline(always)]
    fn of(&self, who: Who) -> &AtomicU16 {
        &self.0[who.hint() % CELLS]
    }

    /// The place of this subject, or of another with the same cell, or none.
    #[inline(always)]
    pub(super) fn guess(&self, who: Who) -> usize {
        usize::from(self.of(who).load(Relaxed) & NOWHERE)
    }

    /// Whether this subject may be elsewhere, if it is not where it is guessed to be.
    pub(super) fn may_be_elsewhere(&self, who: Who) -> bool {
        let cell = self.of(who).load(Relaxed);
        let guessed = u16::from(cell & NOWHERE != NOWHERE);
        cell >> PLACE_BITS > guessed
    }

    /// It is found here from now on.
    pub(super) fn find(&self, who: Who, place: usize) {
        let cell = self.of(who);
        cell.store(cell.load(Relaxed) & !NOWHERE | place as u16, Relaxed);
    }

    /// It got this place.
    pub(super) fn enter(&self, who: Who, place: usize) {
        let cell = self.of(who);
        cell.store(cell.load(Relaxed) + ONE, Relaxed);
        self.find(who, place);
    }

    /// It lost this place.
    pub(super) fn leave(&self, who: Who, place: usize) {
        let cell = self.of(who);
        let before = cell.load(Relaxed) - ONE;
        let is_guessed = usize::from(before & NOWHERE) == place;
        cell.store(if is_guessed { before | NOWHERE } else { before }, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Subjects that come, go and are found again, against a map: nobody who has a place is taken for a stranger.
    #[test]
    fn whoever_has_a_place_is_found_there_or_looked_for() {
        const PLACES: u64 = 64;
        let (cells, mut there, mut seed) = (Cells::new(), BTreeMap::<usize, Who>::new(), 1_u64);
        // Few cells, so that many subjects share one.
        let subject = |random: u64| Who((random % 1_000) << 40);
        for _ in 0..100_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (place, who) = ((seed >> 33 & (PLACES - 1)) as usize, subject(seed >> 40));
            if let Some(before) = there.remove(&place) {
                cells.leave(before, place);
            }
            if there.values().all(|other| *other != who) {
                cells.enter(who, place);
                there.insert(place, who);
            }
            for (place, who) in &there {
                let guess = cells.guess(*who);
                assert!(
                    guess == *place || cells.may_be_elsewhere(*who),
                    "{who:?} is at {place}, not {guess}"
                );
            }
            let (place, who) =
                there.iter().nth(seed as usize % there.len()).expect("the one who came, at least");
            cells.find(*who, *place);
            assert_eq!(cells.guess(*who), *place);
        }
        for (place, who) in there {
            cells.leave(who, place);
        }
        assert!(cells.0.iter().all(|cell| cell.load(Relaxed) == NOWHERE));
    }
}
