//! The least that a user of the server has to be allowed.

use std::error::Error;
use std::time::Duration;

use slidegate::store::redis::RedisConfig;
use slidegate::store::{Charge, ChargeRequest, ForgetRequest, Note, PostOutcome};
use slidegate::{IdempotentOutcome, Key, Limit, Limiter, Redis, ReserveRequest, SettleOutcome, Space, Store};
use slidegate_testkit::servers::{Cluster, Flavour, Guarded};

use crate::redis::stores::{eventually, keys, limit, patient};

/// Lets scripts notice that the newest writes may be lost.
const INFO: &str = "+info";
const COMMANDS: [&str; 13] = [
    "+eval",
    "+evalsha",
    "+time",
    "+get",
    "+set",
    "+getrange",
    "+setrange",
    "+del",
    "+pexpireat",
    "+hget",
    "+hset",
    "+hdel",
    "+hgetall",
];

/// Every kind, for so short that keys are renewed and end within a test.
fn kinds() -> [Limit; 5] {
    let log = limit(100, 80);
    let others =
        [log.counter(), log.fixed(), log.gcra(100), Limit::in_flight(100, Duration::from_millis(80))];
    let [counter, fixed, gcra, in_flight] = others.map(|limit| limit.expect("a limit"));
    [log, counter, fixed, gcra, in_flight]
}

/// Everything that a store can be asked for.
async fn ask_for_everything(store: &Redis) -> Result<(), Box<dyn Error>> {
    for limit in kinds() {
        let limiter = Limiter::builder([limit]).store(store.clone()).build_async()?;
        for _ in 0..8 {
            let _ = limiter.check("key").await?;
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
        let _ = limiter.peek("key").await?;
    }
    let limiter = Limiter::builder([Limit::per_hour(100)]).name("refunds").refundable();
    let limiter = limiter.store(store.clone()).build_async()?;
    let permit = limiter.reserve("key", 2).await?.permit.ok_or("no permit")?;
    assert_eq!(limiter.settle(&permit, 1).await?, SettleOutcome::Settled);
    let permit = limiter.reserve("other", 1).await?.permit.ok_or("no permit")?;
    assert_eq!(limiter.refund(&permit).await?, SettleOutcome::Settled);
    let (key, limits) = (Key::from("key"), [Limit::per_hour(100)]);
    let charges = [Charge { space: Space::named("once"), key: &key, limits: &limits, cost: 1 }];
    let call = ChargeRequest { now_ms: 0, holder: 1, charges: &charges };
    assert!(matches!(
        store.decide_idempotent(&ReserveRequest::without_refunds(call), b"a").await?,
        IdempotentOutcome::Decided(_)
    ));
    assert!(matches!(
        store.decide_idempotent(&ReserveRequest::without_refunds(call), b"a").await?,
        IdempotentOutcome::Replayed { .. }
    ));
    store
        .forget(&ForgetRequest { space: Space::named("once"), key: &key, limits: &[limits[0].id()] })
        .await?;
    let note = Note { id: "a".to_owned(), text: "b".to_owned(), expires_at_ms: u64::MAX };
    assert_eq!(store.post(&note, 0).await?, PostOutcome::Done);
    assert_eq!(store.notes().await?.notes, [note]);
    assert!(store.withdraw("a").await?);
    Ok(())
}

fn store(guarded: &Guarded) -> Redis {
    Redis::new(&patient(&guarded.user_url()))
}

#[tokio::test]
async fn these_rights_are_enough() {
    for flavour in Flavour::all() {
        let guarded = Guarded::start(flavour, &format!("~sg:* {} {INFO}", COMMANDS.join(" ")));
        let store = store(&guarded);
        ask_for_everything(&store).await.unwrap_or_else(|error| panic!("{flavour:?}: {error}"));
        assert!(keys(guarded.server()).iter().all(|key| key.starts_with("sg:")));
        assert_eq!(store.warnings(), [], "{flavour:?}: what cannot be looked at is no reason to warn");
    }
}

/// Without INFO everything is decided, but permits are not safe from a loss of writes: a store that
/// issues some warns once.
#[tokio::test]
async fn permits_without_info_are_warned_of() {
    for flavour in Flavour::all() {
        let guarded = Guarded::start(flavour, &format!("~sg:* {}", COMMANDS.join(" ")));
        let store = store(&guarded);
        let limiter =
            Limiter::builder([Limit::per_hour(100)]).store(store.clone()).build_async().expect("a limiter");
        let _ = limiter.check("key").await.expect("a decision");
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(store.warnings(), [], "{flavour:?}: nobody has a permit");
        ask_for_everything(&store).await.unwrap_or_else(|error| panic!("{flavour:?}: {error}"));
        eventually("a warning", async || !store.warnings().is_empty()).await;
        let warnings: Vec<String> = store.warnings().iter().map(ToString::to_string).collect();
        assert!(matches!(&warnings[..], [one] if one.ends_with("allow INFO (NOPERM)")), "{warnings:?}");
    }
}

#[tokio::test]
async fn none_of_them_can_be_done_without() {
    for (flavour, without) in
        Flavour::all().into_iter().flat_map(|flavour| COMMANDS.map(|one| (flavour, one)))
    {
        let rest: Vec<&str> = COMMANDS.into_iter().filter(|command| *command != without).collect();
        let guarded = Guarded::start(flavour, &format!("~sg:* {}", rest.join(" ")));
        let error = ask_for_everything(&store(&guarded)).await.expect_err(without).to_string();
        assert!(error.contains("Redis refused"), "{flavour:?} without {without}: {error}");
    }
}

#[tokio::test]
async fn a_user_who_may_run_no_scripts_is_warned() {
    for flavour in Flavour::all() {
        let guarded = Guarded::start(flavour, "~* +@all -eval -evalsha");
        let store = store(&guarded);
        let error = ask_for_everything(&store).await.expect_err("no scripts").to_string();
        assert!(error.contains("NOPERM"), "{error}");
        eventually("a warning", async || !store.warnings().is_empty()).await;
        let warning = store.warnings()[0].to_string();
        assert!(warning.contains("allow EVAL and EVALSHA"), "{warning}");
        assert!(warning.contains(&format!("127.0.0.1:{}", guarded.server().port())), "{warning}");
    }
}

/// Keys of another prefix are out of reach, so a prefix and the rights to it go together.
#[tokio::test]
async fn a_prefix_needs_the_rights_to_it() {
    let guarded = Guarded::start(Flavour::Redis70, &format!("~mine:* {}", COMMANDS.join(" ")));
    let error = ask_for_everything(&store(&guarded)).await.expect_err("sg: is out of reach").to_string();
    assert!(error.contains("NOPERM"), "{error}");
    let config = patient(&guarded.user_url()).prefix("mine:").expect("a prefix");
    ask_for_everything(&Redis::new(&config)).await.expect("answers");
    assert!(keys(guarded.server()).iter().all(|key| key.starts_with("mine:")));
}

/// A Cluster is asked for its shape, and for slots that are on their way: two rights more, and each
/// is needed.
#[tokio::test]
async fn a_cluster_needs_two_rights_more() {
    let rules = format!("~sg:* {} {INFO} +cluster|slots +asking", COMMANDS.join(" "));
    let mut args = vec!["--user", Guarded::USER, "on", ">secret"];
    args.extend(rules.split(' '));
    let cluster = Cluster::start_with(Flavour::Redis70, &args);
    let login = format!("redis://{}:secret@", Guarded::USER);
    let urls: Vec<String> = cluster.urls().iter().map(|url| url.replace("redis://", &login)).collect();
    let config = RedisConfig::cluster(urls.iter().map(String::as_str)).expect("a cluster");
    let config = config.timeout(Duration::from_secs(5));
    ask_for_everything(&Redis::new(&config)).await.expect("answers");

    let limiter = |config: &RedisConfig| {
        let limiter = Limiter::builder([Limit::per_hour(100)]).name("moving").store(Redis::new(config));
        limiter.build_async().expect("a limiter")
    };
    let moving = limiter(&config);
    let before: Vec<String> = (0..3).flat_map(|node| keys(cluster.node(node))).collect();
    let _ = moving.check("moving").await.expect("a decision");
    let key = (0..3).flat_map(|node| keys(cluster.node(node))).find(|key| !before.contains(key));
    let slot = cluster.slot_of(&key.expect("a new key"));
    let migration = cluster.begin_migration(slot, (cluster.primary_of(slot) + 1) % 3);
    cluster.move_keys(&migration);
    let revoke = |right: &str| {
        (0..6).for_each(|node| cluster.node(node).must(&["ACL", "SETUSER", Guarded::USER, right]));
    };
    assert_eq!(moving.check("moving").await.expect("a decision").remaining(), Some(98));
    revoke("-asking");
    assert!(moving.check("moving").await.is_err(), "the slot is on its way");
    cluster.finish_migration(&migration);
    assert_eq!(moving.check("moving").await.expect("a decision").remaining(), Some(97));
    revoke("-cluster|slots");
    let error = limiter(&config.timeout(Duration::from_secs(1))).check("moving").await.expect_err("no shape");
    assert!(error.to_string().contains("cluster|slots"), "{error}");
}
