//! Many requests across slots at the same time: what is charged in the end is what was admitted.

use std::sync::Arc;
use std::time::Duration;

use slidegate::{Limit, LimitError, Redis, Resolution};
use slidegate_testkit::cases::Rng;
use slidegate_testkit::servers::{Cluster, Flavour};
use tokio::task::JoinSet;

use super::space;
use crate::redis::cross_slot::{Subject, ask, config, remaining, subjects};

const NODES: usize = 4;
const TASKS: u64 = 48;
const REQUESTS: u64 = 40;
const QUOTA: u32 = 700;

/// One subject for each of these limits.
fn one_of_each<const N: usize>(
    cluster: &Cluster,
    limits: [Result<Limit, LimitError>; N],
) -> Arc<Vec<Subject>> {
    let each = limits.map(|limit| vec![limit.expect("a limit")]);
    Arc::new(subjects(cluster, &each))
}

fn places() -> Result<Limit, LimitError> {
    Limit::in_flight(u64::from(QUOTA), Duration::from_secs(3_600))
}

/// What this task was admitted, subject by subject.
async fn requests(store: Redis, subjects: Arc<Vec<Subject>>, seed: u64) -> Vec<u64> {
    let rng = Rng::new(seed);
    let mut admitted = vec![0; subjects.len()];
    for _ in 0..REQUESTS {
        let costs: Vec<u64> =
            subjects.iter().map(|_| if rng.one_in(2) { rng.between(1, 3) } else { 0 }).collect();
        let charges: Vec<(&Subject, u64)> =
            subjects.iter().zip(&costs).filter(|(_, cost)| **cost > 0).map(|(s, cost)| (s, *cost)).collect();
        if ask(&store, space(), &charges).await.expect("a decision").is_allowed() {
            admitted.iter_mut().zip(costs).for_each(|(sum, cost)| *sum += cost);
        }
    }
    admitted
}

/// Asks from several nodes, since what comes in order from one may come in any order from many; and
/// counts.
async fn compare(stores: &[Redis], subjects: Arc<Vec<Subject>>) {
    let mut tasks = JoinSet::new();
    for seed in 0..TASKS {
        let store = stores[seed as usize % stores.len()].clone();
        tasks.spawn(requests(store, subjects.clone(), seed));
    }
    let mut admitted = vec![0; subjects.len()];
    for of_task in tasks.join_all().await {
        admitted.iter_mut().zip(of_task).for_each(|(sum, cost)| *sum += cost);
    }
    for (subject, admitted) in subjects.iter().zip(admitted) {
        let left = remaining(&stores[0], space(), subject).await;
        assert!((1..=u64::from(QUOTA)).contains(&admitted), "{admitted} of {subject:?}");
        assert_eq!(left, [u64::from(QUOTA) - admitted], "of {subject:?}, after {admitted}");
    }
}

/// All kinds, at one moment by the caller's clock, so that nothing leaves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_charged_is_what_was_admitted() {
    let cluster = Cluster::start(Flavour::Redis70);
    let log = Limit::per_hour(QUOTA);
    let kinds = [Ok(log), log.counter(), log.fixed(), log.gcra(u64::from(QUOTA)), places()];
    let stores = [(); NODES].map(|()| Redis::by_callers_clock(&config(&cluster)));
    compare(&stores, one_of_each(&cluster, kinds)).await;
}

/// By the clocks of the servers, so that entries are taken out of the middle of long logs: only
/// kinds that keep all of it for an hour.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_charged_is_what_was_admitted_in_real_time() {
    let cluster = Cluster::start(Flavour::Redis70);
    let log = Limit::per_hour(QUOTA);
    let exact = log.resolution(Resolution::Ms(1));
    let stores = [(); NODES].map(|()| Redis::new(&config(&cluster)));
    compare(&stores, one_of_each(&cluster, [exact, Ok(log), exact, places()])).await;
}
