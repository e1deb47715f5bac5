//! What is remembered: how much, and for how long.

use std::cell::Cell;

use slidegate_core::{Decision, Limit};

use super::*;

const NOW_MS: u64 = 1_000_000_000;

/// A request to some key under as many limits as given, decided as told.
struct Asked<'a> {
    limits: &'a [Limit],
    now_ms: u64,
}

impl Asked<'_> {
    /// Whether it was decided now.
    fn is_new(&self, remembered: &Remembered, name: u64) -> bool {
        let decided = Cell::new(false);
        let (space, key) = (Space::named(""), Key::from("key"));
        let charges = [Charge { space, key: &key, limits: self.limits, cost: 1 }];
        let call = Call { now_ms: self.now_ms, holder: 0, charges: &charges };
        let once = remembered.once(&call, &name.to_le_bytes(), || {
            decided.set(true);
            Verdict::new(self.now_ms, self.limits.iter().map(|_| Decision::default()).collect())
        });
        assert_eq!(matches!(once, Once::Decided(_)), decided.get(), "{once:?}");
        decided.get()
    }
}

/// Its books are right, and it is within its bound.
fn audit(remembered: &Remembered) -> usize {
    let shards = remembered.shards.iter().map(|shard| {
        let shard = shard.lock();
        let ends: BTreeSet<(u64, Fingerprint)> =
            shard.answers.iter().map(|(key, answer)| (answer.end_ms, *key)).collect();
        assert_eq!(shard.ends, ends);
        assert_eq!(shard.weight, shard.answers.values().map(weight).sum::<usize>());
        assert!(shard.weight <= MAX_REMEMBERED / SHARDS);
        shard.answers.len()
    });
    shards.sum()
}

#[test]
fn no_more_is_remembered_than_the_bound_and_what_ends_first_goes_first() {
    let (minute, hour) = ([Limit::per_minute(1)], [Limit::per_hour(1)]);
    let ten_seconds = [Limit::new(1, std::time::Duration::from_secs(10)).expect("a limit")];
    let remembered = Remembered::new();
    let at = |limits, now_ms| Asked { limits, now_ms };
    for name in 0..1_000 {
        assert!(at(&minute, NOW_MS).is_new(&remembered, name));
    }
    for name in 1_000..300_000 {
        assert!(at(&ten_seconds, NOW_MS).is_new(&remembered, name));
    }
    assert_eq!(audit(&remembered), MAX_REMEMBERED);
    for name in 0..1_000 {
        assert!(!at(&minute, NOW_MS).is_new(&remembered, name), "they end later");
    }
    assert!(at(&hour, NOW_MS).is_new(&remembered, 300_000));
    assert_eq!(audit(&remembered), MAX_REMEMBERED);
}

#[test]
fn answers_with_many_decisions_count_as_several() {
    let limits: Vec<Limit> = (0..32).map(|n| Limit::per_hour(1).named(&n.to_string())).collect();
    let remembered = Remembered::new();
    for name in 0..20_000 {
        assert!(Asked { limits: &limits, now_ms: NOW_MS }.is_new(&remembered, name));
    }
    assert_eq!(audit(&remembered), MAX_REMEMBERED / 16);
}

#[test]
fn what_is_over_makes_room_before_that_is_needed() {
    let (limits, remembered) = ([Limit::per_hour(1)], Remembered::new());
    let mut now_ms = NOW_MS;
    // A thousand requests a minute for an hour.
    for name in 0..60_000 {
        assert!(Asked { limits: &limits, now_ms }.is_new(&remembered, name));
        now_ms += 60;
    }
    let kept = audit(&remembered);
    // What is over goes when something comes to the same part, so that a few are left there.
    assert!((1_000..1_500).contains(&kept), "{kept}");
}

/// Whatever a clock does, nothing is kept for longer than it could have been, nor in the way of others.
#[test]
fn a_clock_that_steps_back_keeps_nothing_for_ever() {
    let (limits, remembered) = ([Limit::per_hour(1)], Remembered::new());
    let at = |now_ms| Asked { limits: &limits, now_ms };
    for name in 0..200_000 {
        at(MAX_TIME_MS + name).is_new(&remembered, name);
    }
    assert_eq!(audit(&remembered), MAX_REMEMBERED);
    assert!(at(NOW_MS).is_new(&remembered, 199_999), "that was long ahead");
    for name in 200_000..210_000 {
        assert!(at(NOW_MS).is_new(&remembered, name));
    }
    for name in 200_000..210_000 {
        assert!(!at(NOW_MS - 60_000).is_new(&remembered, name), "a minute back is nothing");
    }
    assert!(at(NOW_MS - 60_001).is_new(&remembered, 205_000), "more is too much");
    audit(&remembered);
    for now_ms in [0, u64::MAX, 1, u64::MAX - 1, 0] {
        assert!(at(now_ms).is_new(&remembered, 7), "{now_ms}");
    }
    audit(&remembered);
}

#[test]
fn everything_but_the_quota_is_part_of_what_is_asked() {
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
