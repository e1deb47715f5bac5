//! Requests across slots that their sender may send again, and charges that come after they were
//! taken back.

use futures_util::future::join_all;
use slidegate::store::{Charge, ChargeRequest};
use slidegate::{IdempotentOutcome, Limit, Redis, ReserveRequest, Store};
use slidegate_testkit::servers::{Cluster, Flavour, RedisServer, RespReply};

use super::{five_a_minute, space};
use crate::redis::cross_slot::{NOW_MS, Subject, ask, config, remaining};

async fn once(store: &Redis, name: &str, costs: &[(&Subject, u64)]) -> IdempotentOutcome {
    let charges: Vec<Charge<'_>> = costs
        .iter()
        .map(|(subject, cost)| Charge {
            space: space(),
            key: &subject.key,
            limits: &subject.limits,
            cost: *cost,
        })
        .collect();
    let call = ChargeRequest { now_ms: NOW_MS, holder: 1, charges: &charges };
    store
        .decide_idempotent(&ReserveRequest::without_refunds(call), name.as_bytes())
        .await
        .expect("a decision")
}

fn one_each(subjects: &[Subject]) -> Vec<(&Subject, u64)> {
    subjects.iter().map(|subject| (subject, 1)).collect()
}

async fn all_remaining(store: &Redis, subjects: &[Subject]) -> Vec<u64> {
    join_all(subjects.iter().map(|subject| remaining(store, space(), subject))).await.concat()
}

#[tokio::test]
async fn a_request_that_is_sent_again_is_charged_once() {
    let cluster = Cluster::start(Flavour::Redis70);
    let store = Redis::by_callers_clock(&config(&cluster));
    let subjects = five_a_minute(&cluster, 3);
    let [a, b, c] = &subjects[..] else { panic!("three") };
    let IdempotentOutcome::Decided(verdict) = once(&store, "x", &[(a, 1), (b, 2), (c, 1)]).await else {
        panic!("it was never seen")
    };
    assert!(verdict.is_admitted());
    for _ in 0..30 {
        let again = once(&store, "x", &[(a, 1), (b, 2), (c, 1)]).await;
        assert_eq!(again, IdempotentOutcome::Replayed { admission: verdict.clone(), holder: 1 });
    }
    assert_eq!(all_remaining(&store, &subjects).await, [4, 3, 4]);
}

#[tokio::test]
async fn something_else_under_the_same_key_is_a_conflict() {
    let cluster = Cluster::start(Flavour::Redis70);
    let store = Redis::by_callers_clock(&config(&cluster));
    let subjects = five_a_minute(&cluster, 3);
    let [a, b, c] = &subjects[..] else { panic!("three") };
    assert!(matches!(once(&store, "x", &[(b, 1), (c, 1)]).await, IdempotentOutcome::Decided(_)));
    let others: [&[(&Subject, u64)]; 6] = [
        &[(b, 2), (c, 1)],
        &[(b, 1), (c, 2)],
        &[(c, 1)],
        // These find out when the first of their slots is charged already.
        &[(a, 1), (b, 1)],
        &[(a, 1), (c, 1)],
        &[(a, 1), (b, 1), (c, 1)],
    ];
    for other in others {
        assert_eq!(once(&store, "x", other).await, IdempotentOutcome::Conflict, "{other:?}");
        assert_eq!(all_remaining(&store, &subjects).await, [5, 4, 4], "after {other:?}");
    }
    assert!(matches!(once(&store, "x", &[(b, 1), (c, 1)]).await, IdempotentOutcome::Replayed { .. }));
}

#[tokio::test]
async fn after_a_denial_the_same_key_may_be_tried_again() {
    let cluster = Cluster::start(Flavour::Redis70);
    let subjects = five_a_minute(&cluster, 3);
    // A larger quota makes room at once.
    let roomy: Vec<Subject> = subjects
        .iter()
        .map(|subject| Subject { limits: vec![Limit::per_minute(50)], ..subject.clone() })
        .collect();
    for full in 0..subjects.len() {
        // A part of the cluster where nobody else is full, so that it is this one that refuses.
        let config = config(&cluster).prefix(format!("{full}:")).expect("a prefix");
        let store = Redis::by_callers_clock(&config);
        assert!(ask(&store, space(), &[(&subjects[full], 5)]).await.expect("a decision").is_allowed());
        let mut left = [5; 3];
        left[full] = 0;
        let denied = once(&store, "x", &one_each(&subjects)).await;
        assert!(matches!(denied, IdempotentOutcome::Decided(admission) if !admission.is_admitted()));
        assert_eq!(all_remaining(&store, &subjects).await, left, "with {full} full");
        let admitted = once(&store, "x", &one_each(&roomy)).await;
        assert!(matches!(admitted, IdempotentOutcome::Decided(admission) if admission.is_admitted()));
        assert!(matches!(once(&store, "x", &one_each(&roomy)).await, IdempotentOutcome::Replayed { .. }));
        assert_eq!(all_remaining(&store, &roomy).await, left.map(|left| left + 45 - 1));
    }
}

#[tokio::test]
async fn the_same_request_many_times_at_once_is_charged_once() {
    let cluster = Cluster::start(Flavour::Redis70);
    let stores: Vec<Redis> = (0..8).map(|_| Redis::by_callers_clock(&config(&cluster))).collect();
    let subjects = five_a_minute(&cluster, 3);
    let costs = one_each(&subjects);
    for round in 1..=5 {
        let name = round.to_string();
        for answer in join_all(stores.iter().map(|store| once(store, &name, &costs))).await {
            let (IdempotentOutcome::Decided(admission) | IdempotentOutcome::Replayed { admission, .. }) =
                answer
            else {
                panic!("{answer:?}")
            };
            assert!(admission.is_admitted());
        }
        assert_eq!(all_remaining(&stores[0], &subjects).await, [5 - round; 3]);
    }
}

/// The calls of scripts that a server saw, the last first.
fn calls(server: &RedisServer) -> Vec<Vec<Vec<u8>>> {
    let bytes =
        |word| if let RespReply::Bulk(Some(word)) = word { word } else { panic!("not a word: {word:?}") };
    let entries = server.command(&["SLOWLOG", "GET", "100"]).items();
    let commands = entries.into_iter().map(|entry| entry.items().swap_remove(3).items());
    let commands = commands.map(|words| words.into_iter().map(bytes).collect::<Vec<_>>());
    commands.filter(|words| words[0] == b"EVALSHA").collect()
}

/// Two connections, or a network in between, may turn their order around.
#[tokio::test]
async fn a_charge_that_comes_after_its_undoing_is_not_admitted() {
    let cluster = Cluster::start_with(Flavour::Redis70, &["--slowlog-log-slower-than", "0"]);
    let store = Redis::by_callers_clock(&config(&cluster));
    let subjects = five_a_minute(&cluster, 2);
    let costs = [(&subjects[0], 1), (&subjects[1], 6)];
    // The first time scripts are sent in full.
    for _ in 0..2 {
        assert!(!ask(&store, space(), &costs).await.expect("a decision").is_allowed());
    }
    let server = cluster.node(cluster.primary_of(subjects[0].slot));
    let [undo, charge, ..] = &calls(server)[..] else { panic!("a charge and its undoing") };
    assert_ne!(undo[1], charge[1], "different scripts");
    assert_eq!(undo[3..5], charge[3..5], "on the same keys");
    assert_eq!(server.command(charge), RespReply::Bulk(Some(b"undone".to_vec())));
    assert_eq!(remaining(&store, space(), &subjects[0]).await, [5]);
}
