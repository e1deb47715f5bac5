//! A primary that stands still in the middle of requests across slots: whether it was charged is
//! not known, so it is undone everywhere, there too once it goes on.

use std::time::Duration;

use slidegate::{Limit, Redis, Space};
use slidegate_testkit::servers::{Cluster, Flavour, wait_for};
use tokio::runtime::Runtime;

use crate::redis::cross_slot::{Subject, ask, config, remaining, subjects};

const QUOTA: u32 = 100;
/// Enough of them for the breaker to open in between, so that some are never sent.
const REQUESTS: usize = 6;

/// One subject for each primary, with a limit of every kind.
fn three(cluster: &Cluster) -> Vec<Subject> {
    let log = Limit::per_hour(QUOTA);
    let places = Limit::in_flight(u64::from(QUOTA), Duration::from_secs(3_600));
    let limits = [Ok(log), log.counter(), log.fixed(), log.gcra(u64::from(QUOTA)), places];
    let limits = limits.map(|limit| limit.expect("a limit")).to_vec();
    subjects(cluster, &vec![limits; 3])
}

#[test]
fn what_may_have_been_charged_is_undone() {
    // Long enough that nobody takes the place of the one that stands still.
    let cluster = Cluster::start_with(Flavour::Redis70, &["--cluster-node-timeout", "60000"]);
    let runtime = Runtime::new().expect("a runtime");
    let patient = Redis::by_callers_clock(&config(&cluster));
    let subjects = three(&cluster);
    let all: Vec<(&Subject, u64)> = subjects.iter().map(|subject| (subject, 1)).collect();
    for stopped in 0..subjects.len() {
        // Anew in every round, so that no breaker is open at its beginning.
        let hasty = Redis::by_callers_clock(&config(&cluster).timeout(Duration::from_millis(100)));
        let space = Space::named(&stopped.to_string());
        let before = [u64::from(QUOTA) - 1; 5];
        // In the background: whoever got the error did not wait for it.
        let is_undone = |index: usize, when: &str| {
            wait_for("charges that are undone", || {
                match runtime.block_on(remaining(&patient, space, &subjects[index])) {
                    left if left == before => Ok(()),
                    left => Err(format!("{left:?} of subject {index} {when} {stopped} stood still")),
                }
            });
        };
        assert!(runtime.block_on(ask(&patient, space, &all)).expect("a decision").is_allowed());
        // It is connected to all of them.
        for subject in &subjects {
            assert_eq!(runtime.block_on(remaining(&hasty, space, subject)), before);
        }

        cluster.node(stopped).stop();
        for _ in 0..REQUESTS {
            let answer = runtime.block_on(ask(&hasty, space, &all));
            assert!(answer.is_err(), "{answer:?}");
        }
        (0..subjects.len()).filter(|index| *index != stopped).for_each(|index| is_undone(index, "while"));
        cluster.node(stopped).resume();
        // It has read what had come before by the time it answers one that came later.
        cluster.node(stopped).command(&["PING"]);
        (0..subjects.len()).for_each(|index| is_undone(index, "after"));
    }
}
