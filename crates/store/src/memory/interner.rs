//! Interner: one-byte numbers for spaces and for the limits of subjects. Lock-free and of fixed
//! size.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use slidegate_core::Limit;

use crate::key::Space;

const TABLE_SIZE: usize = 256;
/// Maximum number of probes for a free entry. Without one, a subject takes more memory.
const PROBES: usize = 16;
/// Number that stands for none.
const NO_NUMBER: u8 = u8::MAX;
/// Maximum number of limits with a number.
pub(super) const CELLS: usize = 3;

/// Table that a one-byte number indexes without a bounds check.
type InternTable<T> = [OnceLock<T>; TABLE_SIZE];

/// Limits of the subjects of a group, one to three.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LimitSpec {
    limits: [Limit; CELLS],
    count: u8,
    pub(super) group: u8,
}

impl LimitSpec {
    /// The first limit, which is the only one in a slot and of a log.
    #[inline(always)]
    pub(super) fn first(&self) -> &Limit {
        &self.limits[0]
    }

    pub(super) fn limits(&self) -> &[Limit] {
        &self.limits[..usize::from(self.count)]
    }
}

/// Number of a limiter's limits in its store, after the first look-up. Comparing numbers takes one
/// instruction, comparing limits a dozen each.
#[derive(Debug)]
pub(super) struct SpecNumber(AtomicU8);

impl SpecNumber {
    const UNKNOWN: u8 = NO_NUMBER;

    pub(super) fn unknown() -> Self {
        Self(AtomicU8::new(Self::UNKNOWN))
    }

    #[inline(always)]
    pub(super) fn is(&self, spec: u8) -> bool {
        self.0.load(Ordering::Relaxed) == spec
    }

    /// Looks the number up at first use.
    pub(super) fn look_up(&self, interner: &Interner, space: Space, limits: &[Limit]) {
        if self.0.load(Ordering::Relaxed) == Self::UNKNOWN
            && let Some(number) = interner.number_of(space, limits)
        {
            self.0.store(number, Ordering::Relaxed);
        }
    }
}

#[derive(Debug)]
struct Spaces {
    buckets: InternTable<Space>,
    /// Numbers of most spaces by the lowest byte of the space.
    groups: InternTable<(Space, u8)>,
}

#[derive(Debug)]
pub(super) struct Interner {
    spaces: Box<Spaces>,
    specs: Box<InternTable<LimitSpec>>,
}

impl Interner {
    pub(super) fn new() -> Self {
        Self {
            spaces: Box::new(Spaces {
                buckets: [const { OnceLock::new() }; TABLE_SIZE],
                groups: [const { OnceLock::new() }; TABLE_SIZE],
            }),
            specs: Box::new([const { OnceLock::new() }; TABLE_SIZE]),
        }
    }

    /// [`Interner::number`] of the limits of a space. Most are found at the first probe.
    #[inline]
    fn number_of(&self, space: Space, limits: &[Limit]) -> Option<u8> {
        let group = self.group(space);
        let index = Self::first_index(group, limits.first()?) % TABLE_SIZE;
        match self.specs[index].get() {
            Some(spec) if spec.group == group && spec.limits() == limits => {
                Some(index as u8).filter(|number| *number != NO_NUMBER)
            }
            _ => self.number(group, limits.iter()),
        }
    }

    #[inline]
    fn first_index(group: u8, first: &Limit) -> usize {
        (first.quota().wrapping_mul(31) ^ first.window_ms() ^ u64::from(group) << 4) as usize
    }

    /// Number of these limits, if they are few enough and a number is free.
    pub(super) fn number<'a>(&self, group: u8, mut limits: impl Iterator<Item = &'a Limit>) -> Option<u8> {
        let first = *limits.next()?;
        let mut spec = LimitSpec { limits: [first; CELLS], count: 1, group };
        for limit in limits {
            *spec.limits.get_mut(usize::from(spec.count))? = *limit;
            spec.count += 1;
        }
        intern(&self.specs, Self::first_index(group, &first), PROBES, spec)
            .filter(|number| *number != NO_NUMBER)
    }

    /// Limits of a number.
    #[inline(always)]
    pub(super) fn spec(&self, number: u8) -> Option<&LimitSpec> {
        self.specs[usize::from(number)].get()
    }

    /// Number of a space, counted up from 0: the budget of every shard has an entry for each number
    /// up to the highest. Spaces beyond the last number share it, and so one fair share of memory.
    #[inline]
    pub(super) fn group(&self, space: Space) -> u8 {
        match self.spaces.groups[usize::from(space.0[0] as u8)].get() {
            Some((existing, group)) if *existing == space => *group,
            _ => self.find_group(space),
        }
    }

    #[inline(never)]
    fn find_group(&self, space: Space) -> u8 {
        let group = intern(&self.spaces.buckets, 0, TABLE_SIZE, space).unwrap_or(u8::MAX);
        // The first space has this entry; the others are searched for every time.
        let _exists = self.spaces.groups[usize::from(space.0[0] as u8)].set((space, group));
        group
    }

    /// Space of a group's number.
    pub(super) fn space(&self, group: u8) -> Option<Space> {
        self.spaces.buckets[usize::from(group)].get().copied()
    }
}

/// Index of a value among the first `probes` from `start` on. The first free entry is taken.
fn intern<T: PartialEq + Copy>(
    buckets: &InternTable<T>,
    start: usize,
    probes: usize,
    value: T,
) -> Option<u8> {
    (0..probes)
        .map(|probe| start.wrapping_add(probe) % TABLE_SIZE)
        .find(|index| *buckets[*index].get_or_init(|| value) == value)
        .map(|index| index as u8)
}
