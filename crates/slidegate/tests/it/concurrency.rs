//! Threads on hot keys: the quota is admitted exactly, and requests on several subjects are charged
//! to all or none.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use slidegate::store::{Charge, ChargeRequest};
use slidegate::{Key, Limit, Limiter, ManualClock, Memory, Space};
use slidegate_testkit::cases::Rng;

const THREADS: u64 = 8;
const REQUESTS: u64 = 20_000;
const NOW_MS: u64 = 1_745_000_000_000;

/// Runs the same on several threads that start together.
fn on_all_threads(run: impl Fn(u64) + Sync) {
    let start = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (run, start) = (&run, &start);
            scope.spawn(move || {
                start.wait();
                run(thread);
            });
        }
    });
}

fn kinds(quota: u64) -> [Limit; 5] {
    let log = Limit::new(quota, std::time::Duration::from_secs(60)).expect("a log");
    let others = [log.counter(), log.fixed(), log.gcra(quota)].map(|limit| limit.expect("a limit"));
    let in_flight = Limit::in_flight(quota, std::time::Duration::from_secs(60)).expect("in flight");
    [log, others[0], others[1], others[2], in_flight]
}

fn admitted(limits: &[Limit], request: impl Fn(&Limiter<Memory, ManualClock>, u64) -> bool + Sync) -> u64 {
    let builder = Limiter::builder(limits.iter().copied()).clock(ManualClock::new(NOW_MS));
    let (limiter, admitted) = (builder.build().expect("a limiter"), AtomicU64::new(0));
    on_all_threads(|thread| {
        for n in 0..REQUESTS {
            if request(&limiter, thread ^ n) {
                admitted.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    admitted.into_inner()
}

#[test]
fn one_hot_key_admits_its_quota_exactly() {
    for limit in kinds(8_000) {
        assert_eq!(admitted(&[limit], |limiter, _| limiter.check("hot").is_allowed()), 8_000, "{limit}");
    }
}

#[test]
fn two_and_three_limits_admit_the_tightest_exactly() {
    let [log, counter, fixed, ..] = kinds(60_000);
    let tight = Limit::per_minute(30_000).counter().expect("a counter").named("tight");
    for limits in [&[log, tight][..], &[tight, counter], &[log, tight, fixed]] {
        assert_eq!(admitted(limits, |limiter, _| limiter.check("hot").is_allowed()), 30_000);
    }
}

/// Checks, reservations and refunds mixed: what is refunded can be had again, and nothing else can.
#[test]
fn refunds_among_checks_keep_the_count() {
    let limit = Limit::per_minute(1_000_000).counter().expect("a counter");
    let limiter = Limiter::builder([limit]).clock(ManualClock::new(NOW_MS)).build().expect("a limiter");
    let refunds = AtomicU64::new(0);
    on_all_threads(|_| {
        for n in 0..2_000 {
            let reserved = limiter.reserve("hot", 3).expect("permits are given");
            let permit = reserved.permit.expect("admitted");
            if n % 2 == 0 && limiter.refund(&permit) == Ok(slidegate::SettleOutcome::Settled) {
                refunds.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let used = 1_000_000 - limiter.peek("hot").remaining().expect("there is a limit");
    assert_eq!(used, 3 * (2_000 * THREADS - refunds.into_inner()));
}

/// Requests on two to four of a few subjects, in any order. Every subject has admitted what its
/// requests were told.
#[test]
fn several_subjects_are_charged_all_or_none() {
    const SUBJECTS: usize = 6;
    let store = Memory::new(1 << 20);
    let (space, limits) = (Space::named("rule"), [Limit::per_minute(20_000), Limit::per_hour(25_000)]);
    let keys: [Key<'_>; SUBJECTS] = std::array::from_fn(|n| Key::from(format!("subject {n}")));
    let admitted: [AtomicU64; SUBJECTS] = Default::default();
    on_all_threads(|thread| {
        let rng = Rng::new(thread);
        for _ in 0..REQUESTS {
            let mut subjects: Vec<usize> = (0..SUBJECTS).collect();
            (0..SUBJECTS).for_each(|n| subjects.swap(n, rng.below(SUBJECTS as u64) as usize));
            subjects.truncate(rng.between(2, 4) as usize);
            let charge = |n: &usize| Charge { space, key: &keys[*n], limits: &limits, cost: 1 };
            let charges: Vec<Charge<'_>> = subjects.iter().map(charge).collect();
            if store.decide_now(&ChargeRequest { now_ms: NOW_MS, holder: 0, charges: &charges }).is_allowed()
            {
                subjects.iter().for_each(|n| {
                    admitted[*n].fetch_add(1, Ordering::Relaxed);
                });
            }
        }
    });
    for (key, admitted) in keys.iter().zip(admitted) {
        let charge = Charge { space, key, limits: &limits, cost: 0 };
        let verdict = store.decide_now(&ChargeRequest { now_ms: NOW_MS, holder: 0, charges: &[charge] });
        let used: Vec<u64> =
            limits.iter().zip(&*verdict.decisions).map(|(l, d)| l.quota() - d.remaining).collect();
        let admitted = admitted.into_inner();
        assert_eq!(used, [admitted, admitted], "{key:?}");
        assert!(admitted <= 20_000);
    }
}

/// Pairs in opposite orders neither wait for each other for ever nor come apart.
#[test]
fn opposite_orders_admit_the_quota_to_both() {
    let store = Memory::new(1 << 20);
    let (space, limits) = (Space::named("rule"), [Limit::per_minute(10_000)]);
    for pair in 0..20 {
        let (one, two) = (Key::from(("one", pair)), Key::from(("two", pair)));
        let admitted = AtomicU64::new(0);
        on_all_threads(|thread| {
            let charge = |key| Charge { space, key, limits: &limits, cost: 1 };
            let mut charges = [charge(&one), charge(&two)];
            if thread % 2 == 0 {
                charges.reverse();
            }
            for _ in 0..2_000 {
                if store
                    .decide_now(&ChargeRequest { now_ms: NOW_MS, holder: 0, charges: &charges })
                    .is_allowed()
                {
                    admitted.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        assert_eq!(admitted.into_inner(), 10_000);
    }
}
