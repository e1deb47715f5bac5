//! Taking back, or correcting, a cost that was admitted: once, and where it was recorded.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::limit::{Kind, Limit, MAX_QUOTA};

/// The most spent permits that one key remembers.
pub const MAX_SPENT: usize = 128;

/// Where and how much an admission wrote under one limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// The stamp of the entry, as the decision gave it.
    pub stamp_ms: u64,
    /// The cost that was recorded.
    pub cost: u64,
    /// The holder's id, for in-flight limits.
    pub holder: u64,
}

/// What came of settling under one limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Settled {
    /// The recorded cost was replaced.
    Done,
    /// The entry has left the window, or was given back: there is nothing to correct.
    Gone,
    /// This kind of limit keeps no entries that could be corrected.
    Unsupported,
}

/// The permits of one key that were used and whose entries could still be corrected a second time.
///
/// Most keys never have any, so the list is a single word until the first.
#[derive(Clone, Default, Debug)]
pub struct Spent {
    #[expect(clippy::box_collection, reason = "one word instead of three in every subject")]
    ids: Option<Box<Vec<(u64, u64)>>>,
}

impl Receipt {
    /// When what it recorded leaves the window for good.
    pub fn release_ms(&self, limit: &Limit) -> u64 {
        let window_ms = limit.window_ms();
        let start_ms = limit.window_start_ms(self.stamp_ms);
        match limit.kind() {
            Kind::Counter => start_ms.saturating_add(2 * window_ms),
            Kind::Fixed => start_ms.saturating_add(window_ms),
            Kind::Log { .. } | Kind::Gcra { .. } | Kind::InFlight => self.stamp_ms.saturating_add(window_ms),
        }
    }
}

impl Spent {
    fn ids(&self) -> &[(u64, u64)] {
        self.ids.as_deref().map_or(&[], Vec::as_slice)
    }

    /// What is remembered: permit ids, and until when.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ids().iter().copied()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.ids().is_empty()
    }

    /// Forgets the permits whose entries are gone at `now_ms`.
    pub fn prune(&mut self, now_ms: u64) {
        if let Some(ids) = &mut self.ids {
            ids.retain(|(_, until_ms)| *until_ms > now_ms);
        }
    }

    /// Whether this permit was spent.
    pub fn contains(&self, id: u64) -> bool {
        self.ids().iter().any(|(spent, _)| *spent == id)
    }

    /// Whether no further permit can be remembered, so that none may be settled: the safe direction.
    pub fn is_full(&self) -> bool {
        self.ids().len() >= MAX_SPENT
    }

    /// Remembers a permit until its entries are gone.
    pub fn insert(&mut self, id: u64, until_ms: u64) {
        self.ids.get_or_insert_default().push((id, until_ms));
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.ids.as_ref().map_or(0, |ids| size_of_val(&**ids) + ids.capacity() * size_of::<(u64, u64)>())
    }
}

impl PartialEq for Spent {
    fn eq(&self, other: &Self) -> bool {
        self.ids() == other.ids()
    }
}

impl Eq for Spent {}

/// Where debts end: up to here sums are still exact in a double.
pub(crate) const MAX_DEBT: u64 = 2 * MAX_QUOTA;

/// A count with the recorded cost replaced.
pub(crate) fn settled_count(count: u64, recorded: u64, cost: u64) -> u64 {
    count.saturating_sub(recorded).saturating_add(cost).min(MAX_DEBT)
}

pub(crate) fn settleable_cost(cost: u64) -> u64 {
    cost.min(MAX_QUOTA)
}
