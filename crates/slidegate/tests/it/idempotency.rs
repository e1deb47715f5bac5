//! Requests that their sender may send again, in memory: charged once, answered again for a while.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use slidegate::store::{Charge, ChargeRequest};
use slidegate::{IdempotentOutcome, Key, Limit, Memory, ReserveRequest, Space, Verdict};

const NOW_MS: u64 = 1_745_000_000_000;

/// A request of some cost to one key.
#[derive(Clone, Copy)]
struct KeyRequest<'a> {
    key: &'a str,
    limits: &'a [Limit],
    cost: u64,
    now_ms: u64,
}

impl KeyRequest<'_> {
    fn once(&self, store: &Memory, idempotency_key: &str) -> IdempotentOutcome {
        let once = |call: &ChargeRequest<'_>| {
            store.decide_idempotent_now(&ReserveRequest::without_refunds(*call), idempotency_key.as_bytes())
        };
        self.call(self.cost, once)
    }

    /// What the first limit has left.
    fn remaining(&self, store: &Memory) -> u64 {
        self.call(0, |call| store.decide_now(call)).decisions[0].remaining
    }

    fn call<R>(&self, cost: u64, ask: impl FnOnce(&ChargeRequest<'_>) -> R) -> R {
        let (space, key) = (Space::named(""), Key::from(self.key));
        let charges = [Charge { space, key: &key, limits: self.limits, cost }];
        ask(&ChargeRequest { now_ms: self.now_ms, holder: 7, charges: &charges })
    }
}

fn ten_an_hour() -> [Limit; 1] {
    [Limit::per_hour(10)]
}

/// The answer of then, under the id of then.
fn replayed(verdict: Verdict) -> IdempotentOutcome {
    IdempotentOutcome::Replayed { admission: verdict.into(), holder: 7 }
}

fn decided(once: IdempotentOutcome) -> Verdict {
    match once {
        IdempotentOutcome::Decided(admission) => admission.verdict,
        other => panic!("not decided now: {other:?}"),
    }
}

#[test]
fn a_request_that_comes_again_is_charged_once_however_often() {
    let hold = Limit::in_flight(10, Duration::from_secs(3600)).expect("a limit");
    let limits = [Limit::per_hour(10), hold, Limit::per_day(10)];
    for limits in [&limits[..1], &limits[1..2], &limits[..2], &limits] {
        let store = Memory::default();
        let request = KeyRequest { key: "key", limits, cost: 2, now_ms: NOW_MS };
        let verdict = decided(request.once(&store, "a"));
        assert!(verdict.is_allowed());
        for _ in 0..300 {
            assert_eq!(request.once(&store, "a"), replayed(verdict.clone()), "{limits:?}");
            assert_eq!(request.remaining(&store), 8);
        }
        assert_eq!(decided(request.once(&store, "b")).remaining(), Some(6), "another key");
    }
}

#[test]
fn something_else_under_the_same_key_is_a_conflict() {
    let (store, limits) = (Memory::default(), ten_an_hour());
    let request = KeyRequest { key: "key", limits: &limits, cost: 2, now_ms: NOW_MS };
    let verdict = decided(request.once(&store, "a"));
    assert_eq!(KeyRequest { cost: 3, ..request }.once(&store, "a"), IdempotentOutcome::Conflict);
    let day = KeyRequest { limits: &[Limit::per_day(10)], ..request };
    let bob = KeyRequest { key: "bob", ..request };
    for other in [day, bob] {
        assert_eq!(other.once(&store, "a"), IdempotentOutcome::Conflict);
        assert_eq!((request.remaining(&store), other.remaining(&store)), (8, 10), "nothing is charged");
    }
    assert_eq!(request.once(&store, "a"), replayed(verdict.clone()), "nor forgotten");
    let raised = KeyRequest { limits: &[Limit::per_hour(20)], ..request };
    assert_eq!(raised.once(&store, "a"), replayed(verdict), "a new quota is no new request");
}

#[test]
fn a_denial_is_not_remembered() {
    let (store, limits) = (Memory::default(), ten_an_hour());
    let request = KeyRequest { key: "key", limits: &limits, cost: 6, now_ms: NOW_MS };
    let _ = decided(request.once(&store, "a"));
    let denied = decided(request.once(&store, "b"));
    assert!(!denied.is_allowed());
    let other = KeyRequest { cost: 4, ..request };
    assert!(decided(other.once(&store, "b")).is_allowed(), "under that key there is nothing yet");
    assert!(matches!(other.once(&store, "b"), IdempotentOutcome::Replayed { .. }));
    assert_eq!(other.once(&store, "a"), IdempotentOutcome::Conflict);
}

#[test]
fn an_answer_is_remembered_for_the_shortest_window_or_a_minute() {
    let store = Memory::default();
    let (minute, hour) = (Limit::per_minute(10), Limit::per_hour(10));
    let ten_seconds = Limit::new(10, Duration::from_secs(10)).expect("a limit");
    let cases: [(&str, &[Limit], u64); 3] =
        [("a", &[hour], 60_000), ("b", &[minute, hour], 60_000), ("c", &[ten_seconds, minute], 10_000)];
    for (key, limits, lives_ms) in cases {
        let at = |now_ms| KeyRequest { key, limits, cost: 1, now_ms };
        let verdict = decided(at(NOW_MS).once(&store, key));
        assert_eq!(at(NOW_MS + lives_ms - 1).once(&store, key), replayed(verdict.clone()));
        assert_ne!(decided(at(NOW_MS + lives_ms).once(&store, key)), verdict);
    }
}

/// A look is an answer like any other; where nothing is limited, there is nothing to remember.
#[test]
fn looks_are_remembered_and_requests_without_limits_are_not() {
    let (store, limits) = (Memory::default(), ten_an_hour());
    let look = KeyRequest { key: "key", limits: &limits, cost: 0, now_ms: NOW_MS };
    let verdict = decided(look.once(&store, "a"));
    store_one(&store, &limits);
    assert_eq!(look.once(&store, "a"), replayed(verdict));
    let free = KeyRequest { limits: &[], cost: 1, ..look };
    let nothing = ChargeRequest { now_ms: NOW_MS, holder: 0, charges: &[] };
    for _ in 0..2 {
        assert!(decided(free.once(&store, "b")).is_allowed());
        assert!(
            decided(store.decide_idempotent_now(&ReserveRequest::without_refunds(nothing), b"c"))
                .is_allowed()
        );
    }
}

fn store_one(store: &Memory, limits: &[Limit]) {
    let request = KeyRequest { key: "key", limits, cost: 1, now_ms: NOW_MS };
    assert_eq!(request.call(1, |call| store.decide_now(call)).remaining(), Some(9));
}

/// A request on several subjects is remembered as one.
#[test]
fn all_subjects_of_a_request_are_charged_once() {
    let (store, limits) = (Memory::default(), ten_an_hour());
    let (alice, bob) = (Key::from("alice"), Key::from("bob"));
    let charge = |key, cost| Charge { space: Space::named(""), key, limits: &limits, cost };
    let ask = |charges: &[Charge<'_>]| {
        let call = ChargeRequest { now_ms: NOW_MS, holder: 7, charges };
        store.decide_idempotent_now(&ReserveRequest::without_refunds(call), b"a")
    };
    let verdict = decided(ask(&[charge(&alice, 2), charge(&bob, 3)]));
    assert_eq!(ask(&[charge(&alice, 2), charge(&bob, 3)]), replayed(verdict));
    for other in [&[charge(&alice, 2)][..], &[charge(&bob, 3)], &[charge(&alice, 2), charge(&bob, 4)]] {
        assert_eq!(ask(other), IdempotentOutcome::Conflict);
    }
    let left = |key| KeyRequest { key, limits: &limits, cost: 0, now_ms: NOW_MS }.remaining(&store);
    assert_eq!((left("alice"), left("bob")), (8, 7));
}

/// Threads that send the same at the same time: one of them is decided, and all get its answer.
#[test]
fn requests_at_the_same_time_are_charged_once() {
    const THREADS: usize = 8;
    const TIMES: usize = 11;
    for round in 0..200 {
        let store = Memory::default();
        let (limits, start) = ([Limit::per_hour(1_000)], Barrier::new(THREADS));
        let request = KeyRequest { key: "key", limits: &limits, cost: 1, now_ms: NOW_MS };
        let decisions = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    start.wait();
                    for _ in 0..TIMES {
                        match request.once(&store, "a") {
                            IdempotentOutcome::Decided(admission) => {
                                decisions.fetch_add(1, Ordering::Relaxed);
                                assert_eq!(left(&admission.verdict), 999);
                            }
                            IdempotentOutcome::Replayed { admission, .. } => {
                                assert_eq!(left(&admission.verdict), 999);
                            }
                            other => panic!("it is the same: {other:?}"),
                        }
                    }
                });
            }
        });
        assert_eq!(decisions.into_inner(), 1, "round {round}");
        assert_eq!(request.remaining(&store), 999);
    }
}

fn left(verdict: &Verdict) -> u64 {
    verdict.remaining().expect("there is a limit")
}
