//! Units given back without a permit, in memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use slidegate::store::{Charge, ChargeRecord, ChargeRequest, Settlement};
use slidegate::{
    Grant, Key, Limit, Memory, Outcome, RefundScope, ReserveRequest, SettleOutcome, Space, Verdict,
};
use slidegate_core::Receipt;

const NOW_MS: u64 = 1_745_000_000_000;

/// Every kind that has something to give back.
fn kinds(quota: u64) -> [Limit; 4] {
    let log = Limit::new(quota, Duration::from_secs(3_600)).expect("a log");
    let others = [log.counter(), log.fixed(), log.gcra(quota)].map(|limit| limit.expect("a limit"));
    [log, others[0], others[1], others[2]]
}

/// A subject, its limits, and units.
type Part<'a> = (&'a Key<'a>, &'a [Limit], u64);

fn call<T>(parts: &[Part<'_>], holder: u64, ask: impl FnOnce(&ChargeRequest<'_>) -> T) -> T {
    let charge = |&(key, limits, cost)| Charge { space: Space::named("rule"), key, limits, cost };
    let charges: Vec<Charge<'_>> = parts.iter().map(charge).collect();
    ask(&ChargeRequest { now_ms: NOW_MS, holder, charges: &charges })
}

fn charge(store: &Memory, parts: &[Part<'_>]) -> Verdict {
    call(parts, 1, |call| store.decide_now(call))
}

/// A charge with a permit for its only subject.
fn reserve(store: &Memory, parts: &[Part<'_>]) -> (Verdict, Grant) {
    let returns = [RefundScope::Everything];
    let admission =
        call(parts, 1, |call| store.reserve_now(&ReserveRequest { charge: *call, refunds: &returns }));
    let grant = admission.grants.of(0).expect("a permit");
    (admission.verdict, grant)
}

fn give_back(store: &Memory, parts: &[Part<'_>]) -> Verdict {
    call(parts, 1, |call| store.give_back_now(call))
}

fn remaining(verdict: &Verdict) -> Vec<u64> {
    assert!(verdict.decisions.iter().all(|decision| decision.outcome == Outcome::Fits), "{verdict:?}");
    assert!(verdict.decisions.iter().all(|decision| decision.stamp_ms == 0), "{verdict:?}");
    verdict.decisions.iter().map(|decision| decision.remaining).collect()
}

#[test]
fn returned_units_can_be_used_again() {
    let (store, key) = (Memory::new(1 << 20), Key::from("alice"));
    for limit in kinds(5) {
        let part = |units| [(&key, std::slice::from_ref(&limit), units)];
        assert!(charge(&store, &part(5)).is_allowed());
        assert!(!charge(&store, &part(1)).is_allowed());
        assert_eq!(remaining(&give_back(&store, &part(2))), [2], "{limit}");
        assert!(charge(&store, &part(2)).is_allowed());
        assert!(!charge(&store, &part(1)).is_allowed(), "{limit}");
    }
}

#[test]
fn each_subject_gets_its_own_units_back_and_one_that_comes_twice_all_of_them() {
    let store = Memory::new(1 << 20);
    let (limits, [one, other, unknown]) = (kinds(9), ["one", "other", "unknown"].map(Key::from));
    assert!(charge(&store, &[(&one, &limits, 7), (&other, &limits[..1], 4)]).is_allowed());
    let charges =
        [(&one, &limits[..2], 1), (&other, &limits[..1], 9), (&unknown, &limits, 3), (&one, &limits[..1], 2)];
    assert_eq!(remaining(&give_back(&store, &charges)), [5, 3, 9, 9, 9, 9, 9, 5]);
    assert_eq!(remaining(&charge(&store, &[(&one, &limits, 0)])), [5, 3, 2, 2]);
    assert_eq!(store.stats().keys, 1, "what is empty is not kept, and what was never seen not begun");
    assert_eq!(remaining(&give_back(&store, &[])), [0; 0]);
}

#[test]
fn slots_in_flight_stay_occupied() {
    let (store, key) = (Memory::new(1 << 20), Key::from("alice"));
    let limits = [Limit::in_flight(4, Duration::from_secs(60)).expect("in flight"), Limit::per_hour(4)];
    assert!(charge(&store, &[(&key, &limits, 3)]).is_allowed());
    assert_eq!(remaining(&give_back(&store, &[(&key, &limits, 2)])), [1, 3]);
}

/// A permit whose units were given back takes no more than is there, and is spent all the same.
#[test]
fn a_permit_settled_afterwards_takes_nothing_below_zero() {
    let key = Key::from("alice");
    for limit in &kinds(9)[..3] {
        let store = Memory::new(1 << 20);
        let part = |units| [(&key, std::slice::from_ref(limit), units)];
        let (admitted, grant) = reserve(&store, &part(5));
        let _ = charge(&store, &part(2));
        let receipt = Receipt { stamp_ms: admitted.decisions[0].stamp_ms, cost: 5, holder: 1 };
        let settle = |cost| {
            let receipts = vec![(limit.id(), receipt)];
            let subject = ChargeRecord { space: Space::named("rule"), key: key.clone(), grant, receipts };
            let subjects = vec![subject];
            store.settle_now(&Settlement { now_ms: NOW_MS, id: 1, cost, slots: cost, subjects })[0]
        };
        assert_eq!(remaining(&give_back(&store, &part(4))), [6], "{limit}");
        assert_eq!(settle(0), SettleOutcome::Settled);
        assert_eq!(remaining(&charge(&store, &part(0))), [9], "{limit}: 3 were left, and 5 recorded");
        assert!(charge(&store, &part(9)).is_allowed());
        assert_eq!(remaining(&give_back(&store, &part(9))), [9]);
        assert_eq!(settle(0), SettleOutcome::AlreadySpent, "{limit}");
    }
}

/// What one of its limits recorded was all given back, and the limit dropped: the permit counts as
/// used for as long nevertheless.
#[test]
fn a_permit_stays_spent_for_the_longest_of_its_windows() {
    let (store, key) = (Memory::new(1 << 20), Key::from("alice"));
    let places = Limit::in_flight(4, Duration::from_secs(1)).expect("in flight");
    let limits = [kinds(9)[1], places];
    let (admitted, grant) = reserve(&store, &[(&key, &limits, 3)]);
    let _ = give_back(&store, &[(&key, &limits, 3)]);
    let receipts = limits
        .iter()
        .zip(admitted.decisions.iter())
        .map(|(limit, decision)| (limit.id(), Receipt { stamp_ms: decision.stamp_ms, cost: 3, holder: 1 }));
    let receipts = receipts.collect();
    let subject = ChargeRecord { space: Space::named("rule"), key: key.clone(), grant, receipts };
    let settle = |now_ms| {
        let subjects = vec![subject.clone()];
        store.settle_now(&Settlement { now_ms, id: 1, cost: 0, slots: 0, subjects })[0]
    };
    assert_eq!(settle(NOW_MS), SettleOutcome::Settled, "the places are released");
    assert!(charge(&store, &[(&key, &limits, 3)]).is_allowed());
    assert_eq!(settle(NOW_MS + 2_000), SettleOutcome::AlreadySpent);
    assert_eq!(remaining(&charge(&store, &[(&key, &limits[..1], 0)])), [6]);
}

/// Everybody gives back what was admitted, while others are being charged: in the end nothing is
/// used.
#[test]
fn threads_on_one_key_give_back_exactly_what_they_took() {
    let (threads, requests, key) = (8, 3_000, Key::from("hot"));
    for limit in kinds(20) {
        let (store, most) = (Memory::new(1 << 20), AtomicU64::new(0));
        let part = |units| [(&key, std::slice::from_ref(&limit), units)];
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for n in 0..requests {
                        let units = n % 3 + 1;
                        if charge(&store, &part(units)).is_allowed() {
                            most.fetch_add(1, Ordering::Relaxed);
                            let _ = give_back(&store, &part(units));
                        }
                    }
                });
            }
        });
        assert!(most.into_inner() > 0);
        assert_eq!(remaining(&charge(&store, &part(0))), [20], "{limit}");
    }
}

/// In a store that is full of others, too: nothing that is given back takes more than the bound.
#[test]
fn giving_back_stays_within_the_bound() {
    let store = Memory::new(64 << 10);
    let log = Limit::per_hour(30);
    let sets =
        [vec![log], vec![log, kinds(30)[1]], vec![kinds(30)[1], log], vec![log, kinds(30)[2], kinds(30)[3]]];
    let mut returned = 0;
    for n in 0..40_000_u64 {
        let (key, limits) = (Key::from(n % 2_000), &sets[(n / 7 % 4) as usize]);
        let admitted = charge(&store, &[(&key, limits, n % 30 + 1)]).is_allowed();
        if admitted && n % 2 == 0 {
            let before = remaining(&charge(&store, &[(&key, limits, 0)]));
            let answered = remaining(&give_back(&store, &[(&key, limits, n % 11)]));
            let after = remaining(&charge(&store, &[(&key, limits, 0)]));
            assert_eq!(answered, after, "what is answered is so");
            returned += after.iter().sum::<u64>() - before.iter().sum::<u64>();
        }
        assert!(store.stats().bytes <= store.max_memory());
    }
    assert!(returned > 0);
}

/// Nobody is forgotten for the sake of a subject that has nothing to be given back, or of a look.
#[test]
fn giving_back_to_nobody_makes_no_room() {
    let (store, limits) = (Memory::new(64 << 10), kinds(9));
    for n in 0..20_000_u64 {
        let _ = charge(&store, &[(&Key::from(n), &limits[1..2], 1)]);
    }
    let full = store.stats();
    assert!(full.forgotten_keys > 0, "{full:?}");
    for n in 100_000..101_000_u64 {
        assert_eq!(remaining(&give_back(&store, &[(&Key::from(n), &limits, 5)])), [9; 4]);
        let _ = give_back(&store, &[(&Key::from(n - 81_000), &limits[1..2], 0)]);
    }
    assert_eq!(store.stats(), full);
}
