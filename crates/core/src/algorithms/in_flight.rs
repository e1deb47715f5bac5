//! Concurrency limit: a bounded number of holders, each released when its hold ends at the latest.

use alloc::collections::VecDeque;

use crate::history::{Attempt, History};
use crate::limit::{Limit, MAX_ENTRIES, MAX_WINDOW_MS};
use crate::settle::{Receipt, SettleEffect};
use crate::time::{ClockReading, MAX_TIME_MS, read};

/// State of one key under an in-flight limit: its holders in the order of expiry.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct InFlight {
    last_ms: u64,
    in_use: u64,
    holders: VecDeque<Holder>,
}

/// Holder: an admitted request that is not released yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder {
    /// Id under which it is released.
    pub id: u64,
    /// Number of slots that it takes.
    pub count: u64,
    /// Time at which its hold ends.
    pub end_ms: u64,
}

impl InFlight {
    /// State from its parts, in any order.
    pub fn from_holders(last_ms: u64, holders: impl IntoIterator<Item = Holder>) -> Self {
        let bounded = |h: Holder| Holder {
            count: h.count.min(MAX_ENTRIES),
            end_ms: h.end_ms.min(MAX_TIME_MS + MAX_WINDOW_MS),
            ..h
        };
        let mut holders: VecDeque<Holder> = holders.into_iter().map(bounded).collect();
        holders.make_contiguous().sort_by_key(|h| h.end_ms);
        Self { last_ms, in_use: holders.iter().map(|h| h.count).sum(), holders }
    }

    /// Time of the last write.
    pub fn last_ms(&self) -> u64 {
        self.last_ms
    }

    /// Holders in the order of expiry.
    pub fn holders(&self) -> impl Iterator<Item = Holder> + '_ {
        self.holders.iter().copied()
    }

    #[inline]
    pub(crate) fn heap_bytes(&self) -> usize {
        self.holders.capacity() * size_of::<Holder>()
    }

    pub(crate) fn settle(
        &mut self,
        limit: &Limit,
        receipt: &Receipt,
        cost: u64,
        now_ms: u64,
    ) -> SettleEffect {
        self.peek(limit, now_ms);
        let Some(index) = self.holders.iter().position(|h| h.id == receipt.holder) else {
            return SettleEffect::Gone;
        };
        // At most all slots there can be, so that no sum of debts overflows.
        let cost = cost.min(MAX_ENTRIES);
        let before = self.holders[index].count;
        if cost == 0 {
            self.holders.remove(index);
        } else {
            self.holders[index].count = cost;
        }
        self.in_use = self.in_use - before + cost;
        self.last_ms = self.last_ms.max(now_ms);
        SettleEffect::Done
    }
}

impl History for InFlight {
    /// Time at which to decide.
    type View = u64;

    fn peek(&mut self, limit: &Limit, now_ms: u64) -> (u64, u64) {
        let at_ms = match read(now_ms, self.last_ms, limit.window_ms()) {
            ClockReading::At(ms) => ms,
            ClockReading::Repair(ms) => {
                let latest_ms = ms + limit.window_ms();
                self.holders.iter_mut().for_each(|h| h.end_ms = h.end_ms.min(latest_ms));
                self.last_ms = ms;
                ms
            }
        };
        while let Some(first) = self.holders.front().filter(|h| h.end_ms <= at_ms) {
            self.in_use -= first.count;
            self.holders.pop_front();
        }
        if self.holders.is_empty() {
            // Same as a new key: the time of the last write has no meaning.
            self.last_ms = 0;
        }
        (limit.quota().saturating_sub(self.in_use), self.view(limit, now_ms))
    }

    fn view(&self, _: &Limit, now_ms: u64) -> u64 {
        self.last_ms.max(now_ms)
    }

    fn reset_after_ms(&self, _: &Limit, now_ms: u64, _: u64) -> u64 {
        self.holders.back().map_or(0, |last| last.end_ms - now_ms)
    }

    /// Time until enough holds have ended: an upper bound, since any may be released before.
    fn wait_ms(&self, limit: &Limit, attempt: Attempt, _: u64) -> u64 {
        let mut excess = (self.in_use + attempt.cost).saturating_sub(limit.quota());
        for holder in &self.holders {
            if holder.count >= excess {
                return holder.end_ms - attempt.now_ms;
            }
            excess -= holder.count;
        }
        0
    }

    fn record(&mut self, limit: &Limit, attempt: Attempt, at_ms: u64) -> (u64, u64) {
        self.last_ms = at_ms;
        self.in_use += attempt.cost;
        let end_ms = at_ms + limit.window_ms();
        self.holders.push_back(Holder { id: attempt.holder, count: attempt.cost, end_ms });
        (at_ms, end_ms - attempt.now_ms)
    }

    /// A holder still needs its slots: they are released by the permit, or when the hold ends.
    fn give_back(&mut self, _: &Limit, _: Attempt, _: u64) {}
}
