//! At most so many holders at a time; one that never releases frees itself when its hold ends.

use alloc::collections::VecDeque;

use crate::limit::Limit;
use crate::settle::{Receipt, Settled};
use crate::state::Standing;
use crate::time::{Reading, read};

/// Who holds how much of one in-flight limit, in the order in which they end.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct InFlight {
    last_ms: u64,
    held: u64,
    holders: VecDeque<Holder>,
}

/// One admitted request that has not been released yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The id under which it is released.
    pub id: u64,
    /// How many places it takes.
    pub count: u64,
    /// When it frees itself.
    pub end_ms: u64,
}

impl InFlight {
    /// A state from its parts.
    pub fn from_holders(last_ms: u64, holders: impl IntoIterator<Item = Holder>) -> Self {
        let holders: VecDeque<Holder> = holders.into_iter().collect();
        Self { last_ms, held: holders.iter().map(|h| h.count).sum(), holders }
    }

    /// When it was last written.
    pub fn last_ms(&self) -> u64 {
        self.last_ms
    }

    /// Who holds it, the first to end first.
    pub fn holders(&self) -> impl Iterator<Item = Holder> + '_ {
        self.holders.iter().copied()
    }

    #[inline]
    pub(crate) fn heap_bytes(&self) -> usize {
        self.holders.capacity() * size_of::<Holder>()
    }

    pub(crate) fn look(&mut self, limit: &Limit, now_ms: u64) -> Standing {
        let at_ms = match read(now_ms, self.last_ms, limit.window_ms()) {
            Reading::At(ms) => ms,
            Reading::Repair(ms) => {
                let latest_ms = ms + limit.window_ms();
                self.holders.iter_mut().for_each(|h| h.end_ms = h.end_ms.min(latest_ms));
                self.last_ms = ms;
                ms
            }
        };
        while let Some(first) = self.holders.front().filter(|h| h.end_ms <= at_ms) {
            self.held -= first.count;
            self.holders.pop_front();
        }
        if self.holders.is_empty() {
            // As if never seen: then the time of the last write means nothing either.
            self.last_ms = 0;
        }
        Standing {
            remaining: limit.quota().saturating_sub(self.held),
            reset_after_ms: self.reset_after_ms(now_ms),
        }
    }

    pub(crate) fn reset_after_ms(&self, now_ms: u64) -> u64 {
        self.holders.back().map_or(0, |last| last.end_ms - now_ms)
    }

    /// When enough holds have ended, if nobody releases before: an upper bound.
    pub(crate) fn wait_ms(&self, limit: &Limit, cost: u64, now_ms: u64) -> u64 {
        let mut excess = (self.held + cost).saturating_sub(limit.quota());
        for holder in &self.holders {
            if holder.count >= excess {
                return holder.end_ms - now_ms;
            }
            excess -= holder.count;
        }
        0
    }

    pub(crate) fn record(&mut self, limit: &Limit, cost: u64, now_ms: u64, id: u64) -> u64 {
        self.last_ms = now_ms.max(self.last_ms);
        self.held += cost;
        let end_ms = self.last_ms + limit.window_ms();
        self.holders.push_back(Holder { id, count: cost, end_ms });
        self.last_ms
    }

    pub(crate) fn settle(&mut self, limit: &Limit, receipt: &Receipt, cost: u64, now_ms: u64) -> Settled {
        self.look(limit, now_ms);
        let Some(index) = self.holders.iter().position(|h| h.id == receipt.holder) else {
            return Settled::Gone;
        };
        let before = self.holders[index].count;
        if cost == 0 {
            self.holders.remove(index);
        } else {
            self.holders[index].count = cost;
        }
        self.held = self.held - before + cost;
        self.last_ms = self.last_ms.max(now_ms);
        Settled::Done
    }
}
