//! A primary that is killed in the middle of requests: its slots fail until its replica has taken
//! over, the others do not.

use slidegate::Redis;
use slidegate_testkit::servers::{Cluster, Flavour, wait_for};
use tokio::runtime::Runtime;

use super::load::{Load, plenty};
use crate::redis::cross_slot::{config, subjects};

fn a_primary_dies(flavour: Flavour) {
    // By default a cluster answers nothing while any slot has no primary.
    let mut cluster = Cluster::start_with(flavour, &["--cluster-require-full-coverage", "no"]);
    let runtime = Runtime::new().expect("a runtime");
    let store = Redis::by_callers_clock(&config(&cluster));
    let subjects = subjects(&cluster, &vec![vec![plenty()]; 3]);
    let loads: Vec<Load> =
        subjects.iter().map(|subject| Load::start(&runtime, &store, "rule", &[subject])).collect();
    let across = Load::start(&runtime, &store, "across", &[&subjects[0], &subjects[1]]);
    loads.iter().chain([&across]).for_each(Load::goes_on);

    cluster.kill_primary(1);
    wait_for("errors", || if loads[1].errors() > 0 { Ok(()) } else { Err("none".to_owned()) });
    [&loads[0], &loads[2]].into_iter().for_each(Load::goes_on);
    cluster.wait_until_ok();
    assert_eq!(cluster.primary_of(subjects[1].slot), 4, "its replica");
    let before = loads[1].admitted();
    loads.iter().chain([&across]).for_each(Load::goes_on);

    let tallies: Vec<_> = loads.into_iter().map(|load| load.stop(&runtime)).collect();
    for tally in [&tallies[0], &tallies[2]] {
        assert!(tally.errors.is_empty(), "{tally:?}");
        assert_eq!(tally.charged, [tally.admitted]);
    }
    // The replica may have missed the last of what its primary admitted. But nothing was sent again
    // that may have run.
    let (dead, charged) = (&tallies[1], tallies[1].charged[0]);
    assert!(charged <= dead.admitted + dead.errors.len() as u64, "{dead:?}");
    assert!(charged >= dead.admitted - before, "{before} before, {dead:?}");
    // Of requests that failed nothing stays with the primary that lives.
    let across = across.stop(&runtime);
    assert!(!across.errors.is_empty());
    assert_eq!(across.charged[0], across.admitted, "{across:?}");
    assert!(across.charged[1] <= across.admitted + across.errors.len() as u64, "{across:?}");
}

#[test]
fn a_primary_of_redis_7_0_dies() {
    a_primary_dies(Flavour::Redis70);
}

#[test]
fn a_primary_of_valkey_9_dies() {
    a_primary_dies(Flavour::Valkey9);
}
