//! Small numbers for what recurs in every slot: spaces, and limits within a space. Never locked, never grown.

use std::sync::OnceLock;

use slidegate_core::Limit;

use crate::key::Space;

const PLACES: usize = 256;
/// How far to look for a free place before giving up; giving up costs memory, not correctness.
const PROBES: usize = 16;

/// Fits a number of one byte, so that looking one up takes no check.
type Places<T> = [OnceLock<T>; PLACES];

/// A limit of a group, as a packed slot refers to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spec {
    pub(super) group: u8,
    pub(super) limit: Limit,
}

#[derive(Debug)]
pub(super) struct Registry {
    spaces: Box<Places<Space>>,
    specs: Box<Places<Spec>>,
}

impl Registry {
    pub(super) fn new() -> Self {
        Self {
            spaces: Box::new([const { OnceLock::new() }; PLACES]),
            specs: Box::new([const { OnceLock::new() }; PLACES]),
        }
    }

    /// The number of a limit, if there is one left for it.
    pub(super) fn number(&self, group: u8, limit: &Limit) -> Option<u8> {
        let start = limit.quota().wrapping_mul(31) ^ limit.window_ms() ^ u64::from(group) << 4;
        intern(&self.specs, start as usize, PROBES, Spec { group, limit: *limit })
    }

    /// What a number stands for.
    #[inline]
    pub(super) fn spec(&self, number: u8) -> Option<&Spec> {
        self.specs[usize::from(number)].get()
    }

    /// A number for the space, counted up from 0: the books of every shard have a line for each number up to the highest.
    /// Spaces beyond the last number share that, and so a fair share of memory.
    pub(super) fn group(&self, space: Space) -> u8 {
        intern(&self.spaces, 0, PLACES, space).unwrap_or(u8::MAX)
    }

    /// The space behind a group's number.
    pub(super) fn space(&self, group: u8) -> Option<Space> {
        self.spaces[usize::from(group)].get().copied()
    }
}

/// The place of a value among the first `probes` from `start` on; a free one becomes its place.
fn intern<T: PartialEq + Copy>(places: &Places<T>, start: usize, probes: usize, value: T) -> Option<u8> {
    (0..probes)
        .map(|probe| start.wrapping_add(probe) % PLACES)
        .find(|index| *places[*index].get_or_init(|| value) == value)
        .map(|index| index as u8)
}
