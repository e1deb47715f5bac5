//! Deny cache: denials that still apply, which a node repeats without a call to a server.
//!
//! A denial applies until its wait is over, counted from the time at which the call was sent, since
//! without refunds other admissions can only prolong it. It applies to the same limit, or a lower
//! quota, and to any cost at least as large.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use slidegate_core::{Limit, LimitKind};

use super::plan::PlanItem;

const SHARDS: usize = 16;

#[derive(Debug)]
pub(super) struct DenyCache {
    shards: [Mutex<DenyShard>; SHARDS],
    hasher: RandomState,
    /// Maximum number of entries of a shard; 0 turns the cache off.
    max_entries: usize,
    /// Maximum age of an entry.
    max_age: Duration,
    /// Number of requests that the cache denied.
    hits: AtomicU64,
}

#[derive(Default, Debug)]
struct DenyShard {
    denials: HashMap<Vec<u8>, DenyEntry>,
    /// Time of the last clear; replies to calls sent before it are not cached.
    cleared: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct DenyEntry {
    limit: Limit,
    cost: u64,
    /// Earliest end of the wait.
    until: Instant,
    /// Expiry of the entry.
    expires_at: Instant,
}

impl DenyCache {
    pub(super) fn new(entries: usize, max_age: Duration) -> Self {
        let max_entries = if max_age.is_zero() { 0 } else { entries.div_ceil(SHARDS) };
        Self {
            shards: Default::default(),
            hasher: RandomState::new(),
            max_entries,
            max_age,
            hits: AtomicU64::new(0),
        }
    }

    fn shard(&self, key: &[u8]) -> MutexGuard<'_, DenyShard> {
        let shard = &self.shards[self.hasher.hash_one(key) as usize % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Minimum wait of this cost, if it is cached.
    pub(super) fn wait_ms(&self, item: &PlanItem, now: Instant) -> Option<u64> {
        if self.max_entries == 0 || item.cost == 0 {
            return None;
        }
        let denial = *self.shard(&item.key).denials.get(&item.key)?;
        let holds = now < denial.expires_at
            && item.cost >= denial.cost
            && item.limit.quota() <= denial.limit.quota()
            && item.limit.ceiling() <= denial.limit.ceiling();
        let wait_ms = denial.until.saturating_duration_since(now).as_millis() as u64;
        (holds && wait_ms > 0).then_some(wait_ms)
    }

    /// Counts a request that the cache denied.
    pub(super) fn count_hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Caches that this cost has to wait, counted from the time at which it was sent. Not for
    /// in-flight limits, whose slots may be released at any time.
    pub(super) fn insert(&self, item: &PlanItem, wait_ms: u64, sent: Instant) {
        if self.max_entries == 0 || item.cost == 0 || matches!(item.limit.kind(), LimitKind::InFlight) {
            return;
        }
        let until = sent + Duration::from_millis(wait_ms);
        let denial = DenyEntry {
            limit: item.limit,
            cost: item.cost,
            until,
            expires_at: until.min(sent + self.max_age),
        };
        let DenyShard { denials, cleared } = &mut *self.shard(&item.key);
        if cleared.is_some_and(|cleared| sent < cleared) {
            return;
        }
        if denials.len() >= self.max_entries && !denials.contains_key(&item.key) {
            denials.retain(|_, denial| sent < denial.expires_at);
            if denials.len() >= self.max_entries {
                return;
            }
        }
        denials.insert(item.key.clone(), denial);
    }

    /// Removes all entries, and ignores replies that are still under way.
    pub(super) fn clear(&self) {
        let cleared = Some(Instant::now());
        for shard in &self.shards {
            *shard.lock().unwrap_or_else(PoisonError::into_inner) =
                DenyShard { denials: HashMap::new(), cleared };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(key: &str, quota: u32, cost: u64) -> PlanItem {
        PlanItem::new(key.into(), Limit::per_second(quota), cost)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_denial_holds_for_what_is_no_easier() {
        let (denials, sent) = (DenyCache::new(100, ms(500)), Instant::now());
        denials.insert(&item("a", 10, 3), 200, sent);
        assert_eq!(denials.wait_ms(&item("a", 10, 3), sent), Some(200));
        assert_eq!(denials.wait_ms(&item("a", 10, 4), sent + ms(50)), Some(150));
        assert_eq!(denials.wait_ms(&item("a", 9, 3), sent + ms(199)), Some(1));
        assert_eq!(denials.wait_ms(&item("a", 10, 3), sent + ms(200)), None);
        assert_eq!(denials.wait_ms(&item("a", 10, 2), sent), None, "a smaller cost may fit");
        assert_eq!(denials.wait_ms(&item("a", 11, 3), sent), None, "it may fit a larger quota");
        assert_eq!(denials.wait_ms(&item("a", 10, 0), sent), None, "a look is no request");
        assert_eq!(denials.wait_ms(&item("b", 10, 3), sent), None);
    }

    #[test]
    fn a_denial_expires_after_the_longest_time() {
        let (denials, sent) = (DenyCache::new(100, ms(500)), Instant::now());
        denials.insert(&item("a", 10, 1), 60_000, sent);
        assert_eq!(denials.wait_ms(&item("a", 10, 1), sent + ms(499)), Some(59_501));
        assert_eq!(denials.wait_ms(&item("a", 10, 1), sent + ms(500)), None);
    }

    #[test]
    fn there_is_a_bound_and_a_switch() {
        let (denials, sent) = (DenyCache::new(32, ms(500)), Instant::now());
        for n in 0..10_000 {
            denials.insert(&item(&n.to_string(), 10, 1), 1_000, sent);
        }
        let entries: usize =
            denials.shards.iter().map(|shard| shard.lock().expect("not poisoned").denials.len()).sum();
        assert_eq!(entries, 32);
        denials.clear();
        assert_eq!(denials.wait_ms(&item("1", 10, 1), sent), None);
        let off = DenyCache::new(100, Duration::ZERO);
        off.insert(&item("a", 10, 1), 1_000, sent);
        assert_eq!(off.wait_ms(&item("a", 10, 1), sent), None);
    }

    /// A request that was under way when a key was reset may have been denied before that.
    #[test]
    fn denials_of_requests_sent_before_a_clear_are_dropped() {
        let (denials, sent) = (DenyCache::new(100, ms(500)), Instant::now());
        while Instant::now() <= sent {}
        denials.clear();
        denials.insert(&item("a", 10, 1), 60_000, sent);
        assert_eq!(denials.wait_ms(&item("a", 10, 1), sent), None);
        let sent = Instant::now();
        denials.insert(&item("a", 10, 1), 60_000, sent);
        assert_eq!(denials.wait_ms(&item("a", 10, 1), sent), Some(60_000));
    }

    #[test]
    fn places_in_flight_are_not_cached() {
        let (denials, sent) = (DenyCache::new(100, ms(500)), Instant::now());
        let limit = Limit::in_flight(1, ms(1_000)).expect("a limit");
        denials.insert(&PlanItem::new(b"a".to_vec(), limit, 1), 1_000, sent);
        assert_eq!(denials.wait_ms(&PlanItem::new(b"a".to_vec(), limit, 1), sent), None);
    }
}
