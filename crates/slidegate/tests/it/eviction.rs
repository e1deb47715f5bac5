//! What happens at the bound: who makes room, who does not, and what is counted.

use std::time::Duration;

use slidegate::store::memory::Stats;
use slidegate::store::{Charge, ChargeRecord, ChargeRequest, Settlement};
use slidegate::{
    Key, Limit, Limiter, ManualClock, Memory, Outcome, RefundScope, ReserveRequest, Resolution,
    SettleOutcome, Space, Verdict,
};
use slidegate_core::Receipt;

const NOW_MS: u64 = 1_745_000_000_000;
const BOUND: usize = 1 << 20;

fn ask(
    store: &Memory,
    rule: &str,
    keys: &[Key<'_>],
    limits: &[Limit],
    (now_ms, cost): (u64, u64),
) -> Verdict {
    let charge = |key| Charge { space: Space::named(rule), key, limits, cost };
    let charges: Vec<Charge<'_>> = keys.iter().map(charge).collect();
    store.decide_now(&ChargeRequest { now_ms, holder: now_ms, charges: &charges })
}

fn check(store: &Memory, rule: &str, key: u64, limits: &[Limit], now_ms: u64) -> Verdict {
    ask(store, rule, &[key.into()], limits, (now_ms, 1))
}

fn assert_bound(store: &Memory) {
    let stats = store.stats();
    assert!(stats.bytes <= store.max_memory(), "{stats:?} of {}", store.max_memory());
}

fn in_flight(quota: u64) -> Limit {
    Limit::in_flight(quota, Duration::from_secs(3_600)).expect("in flight")
}

/// Every shape of state, growing on many keys at once, stays within the bound: packed ones, several
/// limits, long logs, large counts, holders.
#[test]
fn no_shape_of_state_passes_the_bound() {
    let log = Limit::per_hour(100);
    let wide = Limit::new(1 << 40, Duration::from_secs(3_600)).expect("a log");
    let fine = Limit::per_hour(50_000).resolution(Resolution::Ms(100)).expect("a log").named("fine");
    let counter = Limit::per_hour(10).counter().expect("a counter");
    let fixed = Limit::per_hour(10).fixed().expect("a fixed window");
    let shapes: [&[Limit]; 9] = [
        &[counter],
        &[counter, fixed],
        &[counter, fixed, Limit::per_day(10).counter().expect("a counter")],
        &[log],
        &[wide],
        &[fine],
        &[in_flight(100)],
        &[log, counter],
        &[counter, log, fine, in_flight(9)],
    ];
    for bound in [64 << 10, BOUND, 6 * BOUND] {
        for limits in shapes {
            let store = Memory::new(bound);
            // First many keys that stay small, then the same ones growing.
            for round in 0..4 {
                for key in 0..bound as u64 / 100 {
                    let _ = check(&store, "rule", key, limits, NOW_MS + 1_000 * round);
                }
                assert_bound(&store);
            }
        }
    }
}

/// The same for requests on several subjects, which take another way.
#[test]
fn requests_on_several_subjects_stay_within_the_bound() {
    let limits = [Limit::per_hour(100), in_flight(100)];
    let store = Memory::new(BOUND);
    // Many keys that fit into slots take most of the bound, and then grow.
    for key in 0..15_000_u64 {
        let _ = ask(&store, "rule", &[("one", key).into()], &limits[..1], (NOW_MS, 1));
    }
    for round in 0..10 {
        for key in 0..15_000_u64 {
            let keys = [Key::from(("one", key)), Key::from(("two", key))];
            let _ = ask(&store, "rule", &keys, &limits, (NOW_MS + 1_000 * round, 1));
        }
        assert_bound(&store);
    }
}

/// One key that grows as large as it may: it is refused before the bound is passed.
#[test]
fn one_long_log_stays_within_the_bound() {
    for bound in [64 << 10, 256 << 10, BOUND] {
        for limit in [
            Limit::per_day(60_000).resolution(Resolution::Ms(1_440)).expect("a log"),
            Limit::new(1 << 40, Duration::from_secs(60))
                .and_then(|l| l.resolution(Resolution::Ms(1)))
                .expect("a log"),
            in_flight(60_000),
        ] {
            let store = Memory::new(bound);
            for n in 0..50_000 {
                let _ = check(&store, "rule", 0, &[limit], NOW_MS + 1_440 * n);
                if n % 100 == 0 {
                    assert_bound(&store);
                }
            }
            assert_bound(&store);
        }
    }
}

/// Permits take memory too: what is forgotten to make room takes its permits along, and they are
/// void. None is refused.
#[test]
fn a_flood_of_permits_stays_within_the_bound() {
    let (store, limit) = (Memory::new(BOUND), Limit::per_hour(100));
    let (mut settled, mut void, mut refused) = (0, 0, 0);
    for key in 0..15_000_u64 {
        let (key, limits) = (Key::from(key), [limit]);
        let charges = [Charge { space: Space::named("rule"), key: &key, limits: &limits, cost: 1 }];
        let call = ChargeRequest { now_ms: NOW_MS, holder: settled + void + 1, charges: &charges };
        let admission =
            store.reserve_now(&ReserveRequest { charge: call, refunds: &[RefundScope::Everything] });
        assert_bound(&store);
        let Some(grant) = admission.grants.of(0) else {
            refused += 1;
            continue;
        };
        let receipt = Receipt { stamp_ms: admission.verdict.decisions[0].stamp_ms, cost: 1, holder: 0 };
        let receipts = vec![(limit.id(), receipt)];
        let subjects = vec![ChargeRecord { space: Space::named("rule"), key: key.clone(), grant, receipts }];
        let settlement = Settlement { now_ms: NOW_MS, id: 0, cost: 0, slots: 0, subjects };
        match store.settle_now(&settlement)[0] {
            SettleOutcome::Settled => settled += 1,
            SettleOutcome::Void => void += 1,
            other => panic!("no permit was used before: {other:?}"),
        }
        assert_bound(&store);
    }
    assert_eq!((settled, void, refused), (15_000, 0, 0), "newcomers are served, and none was forgotten yet");
}

/// Keys at half of their quota or above are never forgotten, and nor is what was denied, however
/// they came to be.
#[test]
fn who_is_limited_is_never_forgotten() {
    let limits = [Limit::per_hour(4), Limit::per_hour(1_000).counter().expect("a counter")];
    let store = Memory::new(BOUND);
    let half = |key: u64| ask(&store, "rule", &[("half", key).into()], &limits[..1], (NOW_MS, 2));
    let denied = |key: u64| ask(&store, "rule", &[("denied", key).into()], &limits[1..], (NOW_MS, 999));
    (0..500).for_each(|key| assert!(half(key).is_allowed()));
    for key in 0..500 {
        let keys = [Key::from(("denied", key))];
        assert!(ask(&store, "rule", &keys, &limits[1..], (NOW_MS, 2)).is_allowed());
        assert!(!denied(key).is_allowed());
    }
    // Nor does a peek under a large quota make a key look empty, alone or together with others.
    let large = [Limit::per_hour(1_000_000)];
    for key in 0..500_u64 {
        let _ = ask(&store, "rule", &[("half", key).into()], &large, (NOW_MS, 0));
        let _ = ask(&store, "rule", &[("half", key).into(), ("half", key / 2).into()], &large, (NOW_MS, 0));
    }
    for n in 0..200_000_u64 {
        // Keys that stay packed, keys that grow on the heap, and keys that die soon.
        let now_ms = NOW_MS + n / 100;
        let _ = check(&store, "rule", n, &limits[..1], now_ms);
        let _ = check(&store, "rule", n, &limits, now_ms);
        let _ = check(&store, "rule", n, &[Limit::per_second(100).named("short")], now_ms);
    }
    assert!(store.stats().forgotten_keys > 100_000);
    let left = |kind: &str, key: u64, limit: usize| {
        let verdict = ask(&store, "rule", &[(kind, key).into()], &limits[limit..=limit], (NOW_MS, 0));
        verdict.remaining().expect("there is a limit")
    };
    for key in 0..500 {
        assert_eq!(left("half", key, 0), 2, "{key} was forgotten");
        assert_eq!(left("denied", key, 1), 998, "{key} was forgotten");
    }
}

/// Keys that change their shape all the time, from one place to another and back: what they leave
/// is free again.
#[test]
fn a_change_of_shape_leaves_nothing_behind() {
    let counter = Limit::per_second(4).counter().expect("a counter");
    let shapes: [&[Limit]; 4] =
        [&[counter], &[counter, Limit::per_second(4)], &[Limit::per_second(3)], &[counter, in_flight(3)]];
    let store = Memory::new(BOUND);
    let mut now_ms = NOW_MS;
    for n in 0..200_000_u64 {
        now_ms += n % 3;
        let _ = check(&store, "rule", n % 500, shapes[(n / 7 % 4) as usize], now_ms);
    }
    assert_bound(&store);
    let stats = store.stats();
    assert_eq!((stats.forgotten_keys, stats.refused_for_room), (0, 0), "{stats:?}");
    // Once all of it is dead, newcomers sweep it away.
    for n in 0..20_000_u64 {
        let _ = check(&store, "rule", 1_000 + n, shapes[0], now_ms + 7_200_000 + n);
    }
    let stats = store.stats();
    assert!(stats.keys < 9_000, "{stats:?}");
    for (left, shape) in shapes.iter().enumerate() {
        let (now_ms, key) = (now_ms + 14_400_000, 100_000 + left as u64);
        assert!(check(&store, "rule", key, shape, now_ms).is_allowed());
    }
}

/// One rule floods with keys that cannot be forgotten: it fills its share, and others are still
/// served, whatever the shapes of its keys and of theirs.
#[test]
fn a_rules_flood_starves_no_other_rule() {
    let (log, counter) = (Limit::per_hour(2), Limit::per_hour(2).counter().expect("a counter"));
    let longer = Limit::per_day(2).counter().expect("a counter");
    let shapes: [&[Limit]; 4] = [&[counter], &[counter, longer], &[log], &[log, in_flight(2)]];
    for flood in shapes {
        let store = Memory::new(8 * BOUND);
        let mut refused = 0;
        for n in 0..300_000_u64 {
            refused += u64::from(!check(&store, "flood", n, flood, NOW_MS).is_allowed());
        }
        assert!(refused > 0, "the flood has met its bound");
        assert_eq!(store.stats().refused_for_room, refused);
        for (rule, limits) in shapes.iter().enumerate() {
            for n in 0..100_u64 {
                // Twice: a log gets another shape with its second entry.
                for now_ms in [NOW_MS, NOW_MS + 1] {
                    let verdict = check(&store, &format!("rule {rule}"), n, limits, now_ms);
                    assert!(verdict.is_allowed(), "{flood:?} {rule} {n}: {verdict:?} {:?}", store.stats());
                }
            }
        }
        assert_bound(&store);
    }
}

/// A refusal for want of room says when to come back, and it is a truth that time passes until
/// then.
#[test]
fn a_refusal_for_room_is_a_wait() {
    let (store, limit) = (Memory::new(64 << 10), Limit::per_minute(1));
    let refused =
        (0..10_000_u64).map(|n| check(&store, "rule", n, &[limit], NOW_MS)).find(|v| !v.is_allowed());
    let outcome = refused.expect("a refusal").decisions[0].outcome;
    assert_eq!(outcome, Outcome::RetryAfter(60_000), "when what was seen is gone");
    let peeked = ask(&store, "rule", &[Key::from("new")], &[limit], (NOW_MS, 0));
    assert!(peeked.is_allowed(), "who only looks needs no room");
    let later = check(&store, "rule", 9_999, &[limit], NOW_MS + 60_000);
    assert!(later.is_allowed());
}

/// A clock that was wrong is repaired on a look, and one of two counters before the other: that
/// takes memory, but none beyond the bound.
#[test]
fn the_repair_of_a_clock_stays_within_the_bound() {
    let counter = |quota, window| Limit::new(quota, window).and_then(Limit::counter).expect("a counter");
    let limits = [counter(5, Duration::from_secs(1)), counter(1, Duration::from_secs(3_600))];
    let store = Memory::new(BOUND);
    (0..20_000_u64).for_each(|key| drop(check(&store, "rule", key, &limits, NOW_MS)));
    for now_ms in [NOW_MS - 10_000, NOW_MS - 9_000] {
        for key in 0..20_000_u64 {
            let _ = ask(&store, "rule", &[key.into()], &limits, (now_ms, 0));
            let _ = ask(&store, "rule", &[key.into()], &limits, (now_ms, 1));
            let _ = ask(&store, "rule", &[key.into(), (key + 1).into()], &limits, (now_ms, 1));
        }
        assert_bound(&store);
    }
}

/// The builder refuses limits that share a history; a call that has them all the same is answered.
#[test]
fn a_limit_that_comes_twice_does_no_harm() {
    let counter = Limit::per_minute(2).counter().expect("a counter");
    for limit in [Limit::per_minute(2), counter, in_flight(2)] {
        let store = Memory::new(BOUND);
        let answers: Vec<bool> =
            (0..4).map(|n| check(&store, "rule", 0, &[limit, limit], NOW_MS + n).is_allowed()).collect();
        assert_eq!(answers, [true, true, false, false], "{limit:?}");
        assert!(!check(&store, "rule", 0, &[limit], NOW_MS + 4).is_allowed());
    }
}

/// Looking never needs memory, and nor does refusing: not even where there is none, in whatever way
/// it is asked.
#[test]
fn a_look_is_never_refused() {
    let limits = [Limit::per_hour(1_000), in_flight(1_000)];
    let store = Memory::new(64 << 10);
    for now_ms in NOW_MS..NOW_MS + 100 {
        (0..200_u64).for_each(|key| drop(check(&store, "rule", key, &limits, now_ms)));
    }
    for key in 0..300_u64 {
        for subset in [&limits[..], &limits[..1], &[Limit::per_minute(5)]] {
            let peeked = ask(&store, "rule", &[key.into()], subset, (NOW_MS + 100, 0));
            assert!(peeked.is_allowed(), "{key}: {peeked:?}");
        }
        let both = [Key::from(key), Key::from(key + 1_000)];
        assert!(ask(&store, "rule", &both, &limits, (NOW_MS + 100, 0)).is_allowed());
    }
    assert_bound(&store);
}

/// What was forgotten is counted: keys that were alive, and the units that they had in use.
#[test]
fn what_is_forgotten_is_counted() {
    let (store, limit) = (Memory::new(64 << 10), Limit::per_hour(10).counter().expect("a counter"));
    let mut keys = 0_u64;
    while store.stats().forgotten_keys == 0 {
        let _ = ask(&store, "rule", &[keys.into()], &[limit], (NOW_MS, 3));
        keys += 1;
    }
    let expected = Stats { forgotten_keys: 1, forgotten_units: 3, refused_for_room: 0, ..store.stats() };
    assert_eq!(store.stats(), expected);
    let more = 1_000;
    (0..more).for_each(|n| drop(ask(&store, "rule", &[(keys + n).into()], &[limit], (NOW_MS, 3))));
    let Stats { forgotten_keys, forgotten_units, refused_for_room, keys: present, .. } = store.stats();
    assert_eq!(present as u64 + forgotten_keys, keys + more, "each is held or counted as forgotten");
    assert_eq!((forgotten_units, refused_for_room), (3 * forgotten_keys, 0));
}

/// With a short window and time that moves, what is dead makes room for what comes: nothing that
/// lives is forgotten.
#[test]
fn the_dead_make_room() {
    let limit = Limit::per_second(10).counter().expect("a counter");
    let clock = ManualClock::new(NOW_MS);
    let limiter =
        Limiter::builder([limit]).max_memory(BOUND).clock(clock.clone()).build().expect("a limiter");
    let mut most = 0;
    for n in 0..1_000_000_u64 {
        assert!(limiter.check(n).is_allowed());
        clock.advance_ms(u64::from(n % 4 == 0));
        most = most.max(if n % 1_000 == 0 { limiter.store().stats().keys } else { 0 });
    }
    let stats = limiter.store().stats();
    assert_eq!((stats.forgotten_keys, stats.refused_for_room), (0, 0), "{stats:?}");
    // A counter lives for two windows at most, in which 8,000 keys come; the sweep passes the table
    // once meanwhile.
    assert!(most <= 16_500, "{most} keys were held at once");
}
