//! Heap size of a subject, and its maximum growth.

use slidegate_core::{Holder, Limit, State};

use super::subject::{LimitState, SubjectState};

/// Overhead of an allocation.
const ALLOCATION_BYTES: usize = 16;
/// The first four holders of an in-flight limit; a log begins with less.
const FIRST_RING: usize = 4 * size_of::<Holder>();

/// Size of an allocation of this many bytes, including overhead.
#[inline(always)]
pub(super) fn allocated(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { bytes + ALLOCATION_BYTES }
}

/// Maximum growth by recording another cost, whatever the limit: if counts outgrow their entries,
/// every entry becomes nearly three times as large.
#[inline(always)]
pub(super) fn max_growth(heap_bytes: usize) -> usize {
    2 * heap_bytes + FIRST_RING + ALLOCATION_BYTES
}

/// The same under this limit. A full ring doubles.
pub(super) fn growth(limit: &Limit, state: &State) -> usize {
    let has_capacity = match state {
        State::InFlight(holders) => {
            holders.holders().size_hint().0 * size_of::<Holder>() < state.heap_bytes()
        }
        _ => !state.may_grow(limit),
    };
    if has_capacity {
        return 0;
    }
    if limit.quota() > u64::from(u16::MAX) {
        return max_growth(state.heap_bytes());
    }
    state.heap_bytes().max(FIRST_RING) + ALLOCATION_BYTES
}

impl SubjectState {
    /// Bytes on the heap in the heap layout, including its own box.
    #[inline(always)]
    pub(super) fn heap_bytes(&self) -> usize {
        let mut bytes = size_of::<Self>() + ALLOCATION_BYTES;
        for one in &self.limit_states {
            bytes += allocated(one.state.heap_bytes());
        }
        if self.limit_states.spilled() {
            bytes += allocated(self.limit_states.capacity() * size_of::<LimitState>());
        }
        bytes + allocated(self.permits.heap_bytes())
    }

    /// Maximum growth by recording another cost.
    pub(super) fn growth(&self) -> usize {
        self.limit_states.iter().map(|one| growth(&one.limit, &one.state)).sum()
    }

    /// Maximum growth by this many more permits.
    pub(super) fn permit_bytes(&self, permits: usize) -> usize {
        if permits == 0 {
            return 0;
        }
        // A chunk that is added to a full list grows it; further permits of the same request need no
        // more than that.
        allocated(self.permits.grown_bytes()) - allocated(self.permits.heap_bytes())
    }

    /// Maximum size after a permit is settled: a count may outgrow its entry.
    pub(super) fn settled_bytes(&self, cost: u64) -> usize {
        let states = self.limit_states.iter().map(|one| one.state.heap_bytes());
        let widened = if cost > u64::from(u16::MAX) { 2 * states.sum::<usize>() } else { 0 };
        self.heap_bytes() + widened
    }
}
