//! Tests of the cache: its size, and the lifetime of entries.

use std::cell::Cell;

use slidegate_core::{Decision, Limit, Verdict};

use super::*;

const NOW_MS: u64 = 1_000_000_000;

/// A request to some key under as many limits as given, decided as told.
#[derive(Clone, Copy)]
struct TestRequest<'a> {
    limits: &'a [Limit],
    now_ms: u64,
    subjects: &'a [&'a str],
}

impl TestRequest<'_> {
    fn once(&self, cache: &IdempotencyCache, name: u64) -> IdempotentOutcome {
        let keys: Vec<Key<'_>> = self.subjects.iter().map(|subject| Key::from(*subject)).collect();
        let charge = |key| Charge { space: Space::named(""), key, limits: self.limits, cost: 1 };
        let charges: Vec<Charge<'_>> = keys.iter().map(charge).collect();
        let call = ChargeRequest { now_ms: self.now_ms, holder: name, charges: &charges };
        let decided = Cell::new(false);
        let decisions = self.limits.len() * self.subjects.len();
        let once = cache.decide(&call, &name.to_le_bytes(), || {
            decided.set(true);
            Verdict::new(self.now_ms, (0..decisions).map(|_| Decision::default()).collect()).into()
        });
        assert_eq!(matches!(once, IdempotentOutcome::Decided(_)), decided.get(), "{once:?}");
        if let IdempotentOutcome::Replayed { holder, .. } = once {
            assert_eq!(holder, name, "the id of then");
        }
        once
    }

    /// Whether it was decided now.
    fn is_new(&self, cache: &IdempotencyCache, name: u64) -> bool {
        matches!(self.once(cache, name), IdempotentOutcome::Decided(_))
    }

    /// How many of these are decided before one is rejected because the cache is full.
    fn fit(&self, cache: &IdempotencyCache, names: std::ops::Range<u64>) -> usize {
        names.take_while(|name| self.once(cache, *name) != IdempotentOutcome::Full).count()
    }
}

/// Its books are right, and it is within its bound.
fn audit(cache: &IdempotencyCache) -> usize {
    let mut in_use: HashMap<Fingerprint, usize> = HashMap::new();
    let (mut weight, mut count) = (0, 0);
    for shard in &cache.shards {
        let shard = shard.lock();
        let ends: BTreeSet<(u64, Fingerprint)> =
            shard.answers.iter().map(|(key, answer)| (answer.end_ms, *key)).collect();
        assert_eq!(shard.ends, ends);
        for CacheEntry { entry_cost, .. } in shard.answers.values() {
            weight += entry_cost.weight;
            entry_cost
                .subjects
                .iter()
                .for_each(|subject| *in_use.entry(*subject).or_default() += entry_cost.weight);
        }
        count += shard.answers.len();
    }
    assert_eq!(cache.budget.used.load(Ordering::Relaxed), weight);
    assert!(weight <= MAX_IDEMPOTENCY_ENTRIES);
    for shard in &cache.budget.subjects {
        shard.lock().iter().for_each(|(subject, units)| assert_eq!(in_use.remove(subject), Some(*units)));
    }
    assert!(in_use.is_empty());
    count
}

fn minute() -> [Limit; 1] {
    [Limit::per_minute(1)]
}

/// One subject alone fills seven eighths, and then only that subject is refused.
#[test]
fn nothing_is_forgotten_before_its_time_and_one_subject_leaves_room_for_others() {
    let (limits, cache) = (minute(), IdempotencyCache::new());
    let of = |subjects| TestRequest { limits: &limits, now_ms: NOW_MS, subjects };
    let greedy = of(&["greedy"]);
    let most = greedy.fit(&cache, 0..u64::MAX);
    assert_eq!(most, MAX_IDEMPOTENCY_ENTRIES / 8 * 7);
    assert_eq!(audit(&cache), most);
    for other in 1_000_000..1_002_000 {
        assert!(of(&["modest"]).is_new(&cache, other), "others find room");
        assert_eq!(greedy.once(&cache, 2_000_000 + other), IdempotentOutcome::Full);
    }
    for name in 0..most as u64 {
        assert!(!greedy.is_new(&cache, name), "and all entries are there");
    }
    // Nor does it help to share a subject with everybody: whoever holds least counts.
    assert_eq!(of(&["greedy", "all"]).fit(&cache, 5_000_000..5_000_010), 10);
    assert_eq!(audit(&cache), most + 2_000 + 10);
    let later = TestRequest { now_ms: NOW_MS + 60_000, ..greedy };
    assert!(later.is_new(&cache, 0), "what is over makes room at once");
    assert_eq!(audit(&cache), 1);
}

#[test]
fn a_shared_subject_fills_nothing_for_those_who_hold_little() {
    let (limits, cache) = (minute(), IdempotencyCache::new());
    let of = |subjects| TestRequest { limits: &limits, now_ms: NOW_MS, subjects };
    of(&["greedy", "all"]).fit(&cache, 0..u64::MAX);
    assert_eq!(of(&["greedy", "all"]).once(&cache, u64::MAX), IdempotentOutcome::Full);
    assert_eq!(of(&["modest", "all"]).fit(&cache, 1_000_000..1_001_000), 1_000);
    audit(&cache);
}

#[test]
fn many_subjects_fill_it_to_its_bound_and_no_further() {
    let (limits, cache) = (minute(), IdempotencyCache::new());
    for name in 0..2 * MAX_IDEMPOTENCY_ENTRIES as u64 {
        let subject = name.to_string();
        let once = TestRequest { limits: &limits, now_ms: NOW_MS, subjects: &[&subject] }.once(&cache, name);
        assert_eq!(once == IdempotentOutcome::Full, name >= MAX_IDEMPOTENCY_ENTRIES as u64, "{name}");
    }
    assert_eq!(audit(&cache), MAX_IDEMPOTENCY_ENTRIES);
}

#[test]
fn answers_with_many_decisions_count_as_several() {
    let limits: Vec<Limit> = (0..32).map(|n| Limit::per_hour(1).named(&n.to_string())).collect();
    let cache = IdempotencyCache::new();
    let request = TestRequest { limits: &limits, now_ms: NOW_MS, subjects: &["key"] };
    assert_eq!(request.fit(&cache, 0..u64::MAX), MAX_IDEMPOTENCY_ENTRIES / 16 / 8 * 7);
    audit(&cache);
}

/// Denials take no room.
#[test]
fn denials_take_no_room() {
    let (limits, cache) = (minute(), IdempotencyCache::new());
    let key = Key::from("key");
    let charges = [Charge { space: Space::named(""), key: &key, limits: &limits, cost: 1 }];
    let call = ChargeRequest { now_ms: NOW_MS, holder: 0, charges: &charges };
    for name in 0..10_u64 {
        let denied = Decision { outcome: slidegate_core::Outcome::Never, ..Decision::default() };
        let deny = || Verdict::new(NOW_MS, [denied].into()).into();
        assert!(matches!(cache.decide(&call, &name.to_le_bytes(), deny), IdempotentOutcome::Decided(_)));
    }
    assert_eq!(audit(&cache), 0);
}

#[test]
fn what_is_over_makes_room_before_that_is_needed() {
    let (limits, cache) = ([Limit::per_hour(1)], IdempotencyCache::new());
    let mut now_ms = NOW_MS;
    // A thousand requests a minute for an hour.
    for name in 0..60_000 {
        assert!(TestRequest { limits: &limits, now_ms, subjects: &["key"] }.is_new(&cache, name));
        now_ms += 60;
    }
    let entries = audit(&cache);
    // What is over goes when something comes to the same part, so that a few are left there.
    assert!((1_000..1_500).contains(&entries), "{entries}");
}

/// Whatever a clock does, nothing is kept for longer than it could have been, nor in the way of
/// others.
#[test]
fn a_clock_that_steps_back_keeps_nothing_for_ever() {
    let (limits, cache) = ([Limit::per_hour(1)], IdempotencyCache::new());
    let at = |now_ms| TestRequest { limits: &limits, now_ms, subjects: &["key"] };
    for name in 0..200_000 {
        at(MAX_TIME_MS + name).is_new(&cache, name);
    }
    assert_eq!(audit(&cache), 200_000);
    assert!(at(NOW_MS).is_new(&cache, 199_999), "that was long ahead");
    for name in 200_000..210_000 {
        assert!(at(NOW_MS).is_new(&cache, name));
    }
    for name in 200_000..210_000 {
        assert!(!at(NOW_MS - 60_000).is_new(&cache, name), "a minute back is nothing");
    }
    assert!(at(NOW_MS - 60_001).is_new(&cache, 205_000), "more is too much");
    audit(&cache);
    for now_ms in [0, u64::MAX, 1, u64::MAX - 1, 0] {
        assert!(at(now_ms).is_new(&cache, 7), "{now_ms}");
    }
    audit(&cache);
}

#[test]
fn everything_but_the_quota_is_part_of_the_digest() {
    let (alice, bob, parts) = (Key::from("alice"), Key::from("bob"), Key::from(("alice",)));
    let (one, zero) = (Key::from("alice\0"), Key::from(""));
    let (minute, hour, named) =
        ([Limit::per_minute(5)], [Limit::per_hour(5)], [Limit::per_minute(5).named("a")]);
    let two = [minute[0], hour[0]];
    let first = Charge { space: Space::named("a"), key: &alice, limits: &minute, cost: 1 };
    let others = [
        vec![],
        vec![Charge { space: Space::named("b"), ..first }],
        vec![Charge { cost: 2, ..first }],
        vec![Charge { limits: &hour, ..first }],
        vec![Charge { limits: &named, ..first }],
        vec![Charge { limits: &two, ..first }],
        vec![Charge { limits: &[], ..first }],
        vec![first, first],
        vec![first, Charge { limits: &hour, ..first }],
    ];
    let keys = [&bob, &parts, &one, &zero].map(|key| vec![Charge { key, ..first }]);
    let mut all: Vec<[u8; 16]> = others.iter().chain(&keys).map(|charges| digest(charges)).collect();
    all.push(digest(&[first]));
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
    assert_eq!(digest(&[Charge { limits: &[Limit::per_minute(9)], ..first }]), digest(&[first]));
}
