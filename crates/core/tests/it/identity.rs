//! Which limits share a history, and limits as numbers.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use slidegate_core::{Decision, Decisions, Limit, LimitId, LimitKind, Outcome, Resolution};
use slidegate_testkit::cases::prove;
use slidegate_testkit::ensure;

use crate::run::with_quota;
use crate::trace::{ALL, limit};

#[test]
fn the_quota_the_resolution_and_the_burst_are_not_part_of_the_id() {
    prove(
        |rng| ((limit(rng, rng.pick(&ALL)), rng.between(1, 65_536)), vec![()]),
        |&(limit, quota), _| {
            ensure!(with_quota(&limit, quota).id() == limit.id(), "quota");
            ensure!(limit.needs_id() == (limit.kind() == LimitKind::InFlight), "needs an id");
            ensure!(
                limit.named("a").id() != limit.id() && limit.named("a").id() != limit.named("b").id(),
                "name"
            );
            ensure!(limit.named("a") == limit.named("a"), "the same name");
            let words = limit.named("a").id().to_words();
            ensure!(LimitId::from_words(words) == Some(limit.named("a").id()), "{words:?}");
            ensure!(Limit::from_words(limit.named("a").to_words()) == Ok(limit.named("a")), "named");
            Ok(())
        },
    );
    let log = Limit::per_minute(5);
    assert_eq!(log.resolution(Resolution::Ms(7)).expect("a log").id(), log.id());
    assert_eq!(log.gcra(1).expect("a meter").id(), log.gcra(2).expect("a meter").id());
}

#[test]
fn kinds_and_windows_and_names_have_ids_of_their_own() {
    let (log, other) = (Limit::per_minute(5), Limit::per_second(5));
    let all = [
        log,
        other,
        log.counter().expect("a counter"),
        log.fixed().expect("a fixed window"),
        log.gcra(1).expect("a meter"),
        Limit::in_flight(5, Duration::from_secs(60)).expect("in flight"),
        log.named("read"),
        log.named("write"),
        log.named(""),
    ];
    for (index, a) in all.iter().enumerate() {
        for b in &all[..index] {
            assert_ne!(a.id(), b.id(), "{a:?} and {b:?}");
            assert_ne!(a.id().to_words(), b.id().to_words(), "{a:?} and {b:?}");
        }
    }
    assert_eq!(LimitId::from_words([5, 1_000]), None);
}

#[test]
fn names_are_hashed_as_fnv1a() {
    // Published values of the 32-bit FNV-1a: stored states and permits depend on them.
    for (name, hash) in [("", 0x811c_9dc5_u64), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
        assert_eq!(Limit::per_second(1).named(name).id().to_words()[0] >> 32, hash, "{name}");
    }
}

#[test]
fn the_short_ways_to_a_log() {
    let per = |seconds| Limit::new(5, Duration::from_secs(seconds)).expect("a log");
    assert_eq!(Limit::per_second(5), per(1));
    assert_eq!(Limit::per_minute(5), per(60));
    assert_eq!(Limit::per_hour(5), per(3_600));
    assert_eq!(Limit::per_day(5), per(86_400));
}

#[test]
#[should_panic(expected = "quota must be at least 1")]
fn a_quota_of_0_in_the_short_way_panics() {
    let _ = Limit::per_second(0);
}

#[test]
fn decisions_are_a_list_whatever_their_number() {
    let decision = |remaining| Decision { outcome: Outcome::Fits, remaining, ..Decision::default() };
    for count in 0..6 {
        let all: Vec<Decision> = (0..count).map(decision).collect();
        let mut decisions: Decisions = all.iter().copied().collect();
        assert_eq!(decisions[..], all[..]);
        assert_eq!(decisions, all.iter().copied().collect());
        assert_ne!(decisions, (0..count + 1).map(decision).collect());
        if let Some(last) = decisions.last_mut() {
            last.remaining = 99;
            assert_eq!(decisions.last().map(|decision| decision.remaining), Some(99));
        }
    }
}

/// Limits that differ in one thing only are different, and hash differently.
#[test]
fn every_part_of_a_limit_tells() {
    let log = |quota, ms| Limit::new(quota, Duration::from_millis(ms)).expect("a log");
    let fine = |ms| log(500, 1_000).resolution(Resolution::Ms(ms)).expect("a resolution");
    let base = log(10, 1_000);
    let limits = [
        base,
        log(11, 1_000),
        log(10, 1_001),
        fine(10),
        fine(11),
        base.counter().expect("a counter"),
        base.fixed().expect("a fixed window"),
        base.gcra(5).expect("a meter"),
        base.gcra(6).expect("a meter"),
        base.named("other"),
        Limit::in_flight(10, Duration::from_secs(1)).expect("in flight"),
    ];
    for (one, limit) in limits.iter().enumerate() {
        for (other, beside) in limits.iter().enumerate() {
            assert_eq!(limit == beside, one == other, "{limit:?} and {beside:?}");
        }
    }
    let state = RandomState::new();
    let hashes: HashSet<u64> = limits.iter().map(|limit| state.hash_one(limit)).collect();
    assert_eq!(hashes.len(), limits.len());
}
