//! Outage of the store: every rule has its fallback, and a shutdown does not wait in vain.

use std::time::Duration;

use slidegate_testkit::servers::{Flavour, RedisServer};
use tokio::time::timeout;

use crate::resp::client::Reply;
use crate::resp::service::{Kind, Service};

const POLICY: &str = "
server: { shutdown_timeout: 200ms }
store: { instances: 2 }
rules:
  - { name: local, match: { path: /local }, limits: [4/h], refundable: true }
  - { name: allow, match: { path: /allow }, limits: [4/h], on_store_error: allow }
  - { name: deny, match: { path: /deny }, limits: [4/h], on_store_error: deny }
";

#[tokio::test]
async fn rules_say_what_holds_without_a_store() {
    let mut service = Service::start(Kind::Redis, POLICY).await;
    let mut client = service.client().await;
    let reserved = client.say("SG.CHECK 1 path /local PERMIT").await;
    let Reply::Array(replies) = &reserved else { panic!("not an array: {reserved:?}") };
    assert_eq!(replies[..3], [1, 4, 3].map(Reply::Integer));
    service.redis.as_mut().expect("a server").kill();
    // One of two nodes has half of the quota, which is in the reply, and has used one of its share.
    let hour_ms = 3_600_000;
    let rows = [
        ("SG.CHECK 1 path /local", [1, 2, 0, 0, hour_ms]),
        ("SG.CHECK 1 path /local", [0, 2, 0, hour_ms, hour_ms]),
        ("SG.CHECK 1 path /allow", [1, 4, -1, 0, -1]),
        ("SG.CHECK 1 path /deny", [0, 4, -1, 1_000, -1]),
        ("SG.LIMIT alice 4 1000", [1, 2, 1, 0, 1_000]),
    ];
    for (command, numbers) in rows {
        assert_eq!(client.say(command).await.integers(), numbers, "{command}");
    }
    assert_eq!(client.say("CL.THROTTLE alice 3 60 60").await.integers(), [0, 4, 1, -1, 2]);
    // What is to be given back cannot be: somebody else may have to know of it.
    let refund = client.ask(&["SG.REFUND", replies[5].text()]).await;
    assert!(refund.error().starts_with("UNAVAILABLE the store is unavailable, retry: "), "{refund:?}");
}

/// The store hangs, and so do the commands: at shutdown they get an error.
#[tokio::test]
async fn a_stop_answers_what_was_read() {
    let redis = RedisServer::start(Flavour::Redis70);
    let mut service =
        Service::over(Some(redis), |config| config.timeout(Duration::from_secs(60)), POLICY).await;
    let mut client = service.client().await;
    assert_eq!(client.say("SG.CHECK 1 path /local").await.integers()[0], 1);
    let hung = service.redis.take().expect("a server");
    hung.stop();
    client.write(b"PING\r\nSG.CHECK 1 path /local\r\nPING\r\nSG.CHECK 1 path /deny\r\n").await;
    let (app, served) = (service.app.clone(), service.stop());
    // Local replies before them are written with them.
    assert_eq!(client.reply().await, Reply::Simple("PONG".to_owned()));
    for _ in 0..3 {
        assert_eq!(client.reply().await.error(), "UNAVAILABLE the server is shutting down; retry");
    }
    assert!(client.is_ended().await);
    timeout(Duration::from_secs(5), served).await.expect("no waiting").expect("an end");
    assert_eq!(app.connection_stats().open, 0);
    drop(hung);
}
