//! A slot that moves from one primary to another in the middle of requests: nobody notices, and
//! nothing is counted twice.

use slidegate::Redis;
use slidegate_testkit::servers::{Cluster, Flavour};
use tokio::runtime::Runtime;

use super::load::{Load, plenty};
use crate::redis::cross_slot::{Subject, config, subjects};

fn a_slot_moves(flavour: Flavour) {
    let cluster = Cluster::start(flavour);
    let runtime = Runtime::new().expect("a runtime");
    let store = Redis::by_callers_clock(&config(&cluster));
    let subjects = subjects(&cluster, &vec![vec![plenty()]; 3]);
    let (stays, moves) = (&subjects[0], &subjects[1]);
    let twice = Subject { limits: vec![plenty(), plenty().named("more")], ..moves.clone() };
    let one = Load::start(&runtime, &store, "one limit", &[moves]);
    let two = Load::start(&runtime, &store, "two limits", &[&twice]);
    let across = Load::start(&runtime, &store, "across slots", &[stays, moves]);
    [&one, &two, &across].into_iter().for_each(Load::goes_on);

    let migration = cluster.begin_migration(moves.slot, 2);
    // Keys are where they were. Requests across slots make new ones, and wait until it is settled
    // where those belong.
    [&one, &two].into_iter().for_each(Load::goes_on);
    cluster.move_keys(&migration);
    // Now they are asked for elsewhere.
    [&one, &two].into_iter().for_each(Load::goes_on);
    cluster.finish_migration(&migration);
    assert_eq!(cluster.primary_of(moves.slot), 2);
    [&one, &two, &across].into_iter().for_each(Load::goes_on);

    for load in [one, two, across] {
        let tally = load.stop(&runtime);
        assert!(tally.errors.is_empty(), "{tally:?}");
        assert!(tally.charged.iter().all(|charged| *charged == tally.admitted), "{tally:?}");
    }
}

#[test]
fn a_slot_of_redis_7_0_moves() {
    a_slot_moves(Flavour::Redis70);
}

#[test]
fn a_slot_of_redis_6_2_moves() {
    a_slot_moves(Flavour::Redis62);
}

#[test]
fn a_slot_of_valkey_9_moves() {
    a_slot_moves(Flavour::Valkey9);
}
