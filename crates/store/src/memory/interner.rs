//! Small numbers for what recurs in every slot: spaces, and the limits of a subject. Never locked, never grown.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use slidegate_core::Limit;

use crate::key::Space;

const PLACES: usize = 256;
/// How far to look for a free place before giving up; giving up costs memory, not correctness.
const PROBES: usize = 16;
/// The number that no limits get.
const NO_NUMBER: u8 = u8::MAX;
/// The most limits of a subject that has a number.
pub(super) const CELLS: usize = 3;

/// Fits a number of one byte, so that looking one up takes no check.
type Places<T> = [OnceLock<T>; PLACES];

/// The limits of the subjects of a group, one to three.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spec {
    limits: [Limit; CELLS],
    count: u8,
    pub(super) group: u8,
}

impl Spec {
    /// The first limit, which is the only one in a slot and of a log.
    #[inline(always)]
    pub(super) fn first(&self) -> &Limit {
        &self.limits[0]
    }

    pub(super) fn limits(&self) -> &[Limit] {
        &self.limits[..usize::from(self.count)]
    }
}

/// The number of a limiter's limits in the store that it asks, once it was looked up. To compare it with a slot's takes one
/// instruction where to compare limits takes a dozen for each.
#[derive(Debug)]
pub(super) struct Number(AtomicU8);

impl Number {
    const UNKNOWN: u8 = NO_NUMBER;

    pub(super) fn unknown() -> Self {
        Self(AtomicU8::new(Self::UNKNOWN))
    }

    #[inline(always)]
    pub(super) fn is(&self, spec: u8) -> bool {
        self.0.load(Ordering::Relaxed) == spec
    }

    /// Looks the number up, unless it is known.
    pub(super) fn look_up(&self, registry: &Registry, space: Space, limits: &[Limit]) {
        if self.0.load(Ordering::Relaxed) == Self::UNKNOWN
            && let Some(number) = registry.number_of(space, limits)
        {
            self.0.store(number, Ordering::Relaxed);
        }
    }
}

#[derive(Debug)]
struct Spaces {
    places: Places<Space>,
    /// The numbers of most spaces again, at places that follow from the spaces.
    groups: Places<(Space, u8)>,
}

#[derive(Debug)]
pub(super) struct Registry {
    spaces: Box<Spaces>,
    specs: Box<Places<Spec>>,
}

impl Registry {
    pub(super) fn new() -> Self {
        Self {
            spaces: Box::new(Spaces {
                places: [const { OnceLock::new() }; PLACES],
                groups: [const { OnceLock::new() }; PLACES],
            }),
            specs: Box::new([const { OnceLock::new() }; PLACES]),
        }
    }

    /// [`Registry::number`] of the limits of a space. Most are found at their first place, as every request does it.
    #[inline]
    fn number_of(&self, space: Space, limits: &[Limit]) -> Option<u8> {
        let group = self.group(space);
        let place = Self::first_place(group, limits.first()?) % PLACES;
        match self.specs[place].get() {
            Some(spec) if spec.group == group && spec.limits() == limits => {
                Some(place as u8).filter(|number| *number != NO_NUMBER)
            }
            _ => self.number(group, limits.iter()),
        }
    }

    #[inline]
    fn first_place(group: u8, first: &Limit) -> usize {
        (first.quota().wrapping_mul(31) ^ first.window_ms() ^ u64::from(group) << 4) as usize
    }

    /// The number of these limits, if they are few enough and there is one left for them.
    pub(super) fn number<'a>(&self, group: u8, mut limits: impl Iterator<Item = &'a Limit>) -> Option<u8> {
        let first = *limits.next()?;
        let mut spec = Spec { limits: [first; CELLS], count: 1, group };
        for limit in limits {
            *spec.limits.get_mut(usize::from(spec.count))? = *limit;
            spec.count += 1;
        }
        intern(&self.specs, Self::first_place(group, &first), PROBES, spec)
            .filter(|number| *number != NO_NUMBER)
    }

    /// What a number stands for.
    #[inline(always)]
    pub(super) fn spec(&self, number: u8) -> Option<&Spec> {
        self.specs[usize::from(number)].get()
    }

    /// A number for the space, counted up from 0: the books of every shard have a line for each number up to the highest.
    /// Spaces beyond the last number share that, and so a fair share of memory.
    #[inline]
    pub(super) fn group(&self, space: Space) -> u8 {
        match self.spaces.groups[usize::from(space.0[0] as u8)].get() {
            Some((known, group)) if *known == space => *group,
            _ => self.find_group(space),
        }
    }

    #[inline(never)]
    fn find_group(&self, space: Space) -> u8 {
        let group = intern(&self.spaces.places, 0, PLACES, space).unwrap_or(u8::MAX);
        // Whoever comes first has this place; the others are looked for every time.
        let _taken = self.spaces.groups[usize::from(space.0[0] as u8)].set((space, group));
        group
    }

    /// The space behind a group's number.
    pub(super) fn space(&self, group: u8) -> Option<Space> {
        self.spaces.places[usize::from(group)].get().copied()
    }
}

/// The place of a value among the first `probes` from `start` on; a free one becomes its place.
fn intern<T: PartialEq + Copy>(places: &Places<T>, start: usize, probes: usize, value: T) -> Option<u8> {
    (0..probes)
        .map(|probe| start.wrapping_add(probe) % PLACES)
        .find(|index| *places[*index].get_or_init(|| value) == value)
        .map(|index| index as u8)
}
