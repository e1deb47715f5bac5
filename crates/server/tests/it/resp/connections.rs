//! Connections: how many, how long, and how slow they may be.

use std::time::Duration;

use crate::resp::client::{Client, bytes_of};
use crate::resp::service::{Kind, Service};
use crate::service::{lasts, trickle};

/// Maximum time of a test: five times its own.
const TIME: Duration = Duration::from_millis(200);

async fn service(connections: &str) -> Service {
    let rules = "rules: [{ name: api, key: [user], limits: [3/min] }]";
    Service::start(Kind::Memory, &format!("server: {{ connections: {{ {connections} }} }}\n{rules}")).await
}

#[tokio::test]
async fn a_surplus_connection_gets_an_error() {
    let service = service("max: 1").await;
    let mut first = service.client().await;
    assert_eq!(first.say("PING").await.text(), "PONG");
    let mut second = service.client().await;
    assert_eq!(second.say("PING").await.error(), "ERR max number of clients reached");
    assert!(second.is_ended().await);
    assert_eq!(first.say("PING").await.text(), "PONG");
    assert_eq!(service.app.connection_stats().turned_away, 1);
}

#[tokio::test]
async fn who_never_finishes_a_command_is_cut_off() {
    for (bytes, is_answered) in [("", false), ("*2\r\n$4\r\nECHO\r\n$5\r\nhe", true), ("PIN", true)] {
        let service = service("head_timeout: 200ms").await;
        lasts(TIME, async {
            let mut client = Client::connect(service.address).await;
            client.write(bytes.as_bytes()).await;
            if is_answered {
                let error = "ERR timed out reading the command";
                assert_eq!(client.reply().await.error(), error);
            }
            assert!(client.is_ended().await);
        })
        .await;
        assert_eq!(service.app.connection_stats().ended_slow, 1, "{bytes:?}");
    }
}

/// However often it sends something.
#[tokio::test]
async fn a_trickle_is_no_progress() {
    for first in ["ECHO ", "*2\r\n$4\r\nECHO\r\n$9999\r\n"] {
        let service = service("head_timeout: 200ms").await;
        lasts(TIME, async {
            assert_eq!(&trickle(service.address, first).await, b"-ERR timed o", "{first:?}");
        })
        .await;
        assert_eq!(service.app.connection_stats().ended_slow, 1, "{first:?}");
    }
}

/// Empty lines ask for nothing.
#[tokio::test]
async fn who_asks_nothing_more_is_ended() {
    let service = service("idle_timeout: 200ms").await;
    let mut client = service.client().await;
    assert_eq!(client.say("PING").await.text(), "PONG");
    lasts(TIME, async {
        client.write(b"\r\n\r\n").await;
        assert!(client.is_ended().await);
    })
    .await;
    assert_eq!(service.app.connection_stats().ended_idle, 1);
}

/// Replies fill what the system keeps for a connection, and then nothing moves; others are answered
/// meanwhile.
#[tokio::test]
async fn who_takes_no_replies_is_ended() {
    let service = service("write_timeout: 200ms").await;
    let mut other = service.client().await;
    let mut deaf = service.client().await;
    let command = bytes_of(&["ECHO", &"x".repeat(60_000)]);
    lasts(TIME, async {
        while deaf.try_write(&command).await.is_ok() {
            assert_eq!(other.say("PING").await.text(), "PONG");
        }
    })
    .await;
    assert_eq!(service.app.connection_stats().ended_slow, 1);
    assert_eq!(other.say("PING").await.text(), "PONG");
}

#[tokio::test]
async fn so_many_commands_for_a_connection() {
    let service = service("max_requests: 3").await;
    let mut client = service.client().await;
    for _ in 0..3 {
        assert_eq!(client.say("PING").await.text(), "PONG");
    }
    assert!(client.is_ended().await);
}
