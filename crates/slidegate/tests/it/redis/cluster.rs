//! A Cluster of three primaries: requests of one subject, requests across slots, and what of them
//! stays.

use std::time::Duration;

use slidegate::{Limit, Outcome, Redis, Space};
use slidegate_testkit::servers::{self, Cluster, Flavour};

mod concurrency;
mod give_back;
mod idempotency;
mod memory_oracle;

use crate::redis::cross_slot::{Subject, ask, config, remaining, subjects};

fn space() -> Space {
    Space::named("rule")
}

/// As many subjects, each with five units a minute.
fn five_a_minute(cluster: &Cluster, count: usize) -> Vec<Subject> {
    subjects(cluster, &vec![vec![Limit::per_minute(5)]; count])
}

#[tokio::test]
async fn all_limits_of_a_subject_lie_in_one_slot() {
    let cluster = Cluster::start(Flavour::Redis70);
    let store = Redis::by_callers_clock(&config(&cluster));
    let limits = vec![
        Limit::per_minute(5),
        Limit::per_hour(9),
        Limit::per_day(9).counter().expect("a counter"),
        Limit::in_flight(7, Duration::from_secs(9)).expect("places"),
    ];
    for subject in subjects(&cluster, &vec![limits; 6]) {
        let verdict = ask(&store, space(), &[(&subject, 2)]).await.expect("a decision");
        assert!(verdict.is_allowed());
        let denied = ask(&store, Space::named("other"), &[(&subject, 6)]).await.expect("a decision");
        assert!(!denied.is_allowed());
        assert_eq!(remaining(&store, space(), &subject).await, [3, 7, 7, 5]);
        let owner = cluster.node(cluster.primary_of(subject.slot));
        let keys = owner.command(&["CLUSTER", "COUNTKEYSINSLOT", &subject.slot.to_string()]);
        assert_eq!(keys, servers::RespReply::Int(4), "of {subject:?}");
    }
}

#[tokio::test]
async fn a_request_is_charged_in_every_slot_or_in_none() {
    let cluster = Cluster::start(Flavour::Redis70);
    let store = Redis::by_callers_clock(&config(&cluster));
    let subjects = five_a_minute(&cluster, 4);
    // Every set of subjects that have no room: none, one at either end or in the middle, several,
    // all.
    for full in 0..1_u32 << subjects.len() {
        let space = Space::named(&full.to_string());
        let is_full = |index: usize| full >> index & 1 == 1;
        for (index, subject) in subjects.iter().enumerate() {
            let used = if is_full(index) { 4 } else { 1 };
            assert!(ask(&store, space, &[(subject, used)]).await.expect("a decision").is_allowed());
        }
        let costs: Vec<(&Subject, u64)> = subjects.iter().map(|subject| (subject, 2)).collect();
        let verdict = ask(&store, space, &costs).await.expect("a decision");
        assert_eq!(verdict.is_allowed(), full == 0);
        for (index, (subject, decision)) in subjects.iter().zip(verdict.decisions.iter()).enumerate() {
            let outcome = if is_full(index) { Outcome::RetryAfter(60_000) } else { Outcome::Fits };
            assert_eq!(decision.outcome, outcome, "subject {index} of {full:b}");
            let left = if is_full(index) { 1 } else { 4 - if full == 0 { 2 } else { 0 } };
            assert_eq!(remaining(&store, space, subject).await, [left], "subject {index} of {full:b}");
        }
    }
}
