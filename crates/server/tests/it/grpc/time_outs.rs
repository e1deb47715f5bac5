//! Connections and calls on which nothing moves.

use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use slidegate_testkit::http2::{END_HEADERS, GOAWAY, HEADERS, PING, PREFACE, Raw, frame, head};
use tokio::time::{Instant, sleep, timeout};
use tonic::Code;

use crate::grpc::client::{LIMIT, framed, request};
use crate::grpc::service::Service;
use crate::service::lasts;

/// Maximum time of a test: five times its own.
const TIME: Duration = Duration::from_millis(400);

/// Nothing, or a part of what every connection begins with.
#[tokio::test]
async fn who_does_not_begin() {
    for bytes in [&[][..], &PREFACE[..10]] {
        let service = Service::bounded("head_timeout: 400ms").await;
        let mut raw = Raw::connect(service.address).await;
        raw.write(bytes).await;
        lasts(TIME, async { while raw.next().await.is_some() {} }).await;
        assert_eq!(service.app.connection_stats().ended_slow, 1);
    }
}

#[tokio::test]
async fn a_connection_that_becomes_idle_gets_goaway() {
    let service = Service::bounded("idle_timeout: 400ms").await;
    let mut client = service.client().await;
    assert_eq!(client.limit("alice").await.code(), Code::Ok);
    lasts(TIME, async { assert!(client.ended_well().await) }).await;
    assert_eq!(service.app.connection_stats().ended_idle, 1);
}

/// A half of a head, which has its own time, and pings all the while: neither is a call. It does
/// not answer either, and is ended all the same.
#[tokio::test]
async fn pings_are_no_calls() {
    let service = Service::bounded("idle_timeout: 400ms, head_timeout: 400ms").await;
    for silent in [false, true] {
        let mut raw = Raw::greeted(service.address, &[]).await;
        if silent {
            raw.write(&frame(HEADERS, 0, 1, &head(LIMIT)[..20])).await;
        }
        let began = Instant::now();
        let ended = async {
            let mut is_goaway = false;
            loop {
                tokio::select! {
                    next = raw.next() => match next {
                        Some(next) => is_goaway |= next.kind == GOAWAY,
                        None => break is_goaway,
                    },
                    () = sleep(Duration::from_millis(20)), if !silent => {
                        let _gone = tokio::io::AsyncWriteExt::write_all(&mut raw.0, &frame(PING, 0, 0, &[7; 8])).await;
                    }
                }
            }
        };
        // And a second more in which it does not say that it has heard.
        assert!(timeout(Duration::from_secs(6), ended).await.expect("five times as long"));
        assert!(began.elapsed() >= TIME);
    }
    service.until_open(0).await;
}

/// A call that does not come to its end is over by itself; others on its connection go on, and do
/// not keep it.
#[tokio::test]
async fn half_a_call() {
    let service = Service::bounded("body_timeout: 400ms").await;
    let mut client = service.client().await;
    let message = framed(&request("alice").encode_to_vec());
    for sent_bytes in [0, 3, message.len()] {
        lasts(TIME, async {
            let mut call = client.begin(LIMIT, &[]).await.expect("a call");
            if sent_bytes > 0 {
                call.body.send_data(message.slice(..sent_bytes), false).expect("a call");
            }
            let mut reply = std::pin::pin!(call.reply());
            let reply = loop {
                tokio::select! {
                    reply = &mut reply => break reply.expect("an answer"),
                    () = sleep(Duration::from_millis(5)) => {
                        assert_eq!(client.limit("bob").await.code(), Code::Ok);
                    }
                }
            };
            assert_eq!(reply.code(), Code::DeadlineExceeded, "{sent_bytes}");
        })
        .await;
    }
    assert_eq!(client.limit("bob").await.code(), Code::Ok);
}

/// However often it sends something.
#[tokio::test]
async fn a_trickle_is_no_progress() {
    let service = Service::bounded("body_timeout: 400ms").await;
    let mut client = service.client().await;
    lasts(TIME, async {
        let mut call = client.begin(LIMIT, &[]).await.expect("a call");
        let prefix = [&[0][..], &60_000_u32.to_be_bytes()].concat();
        call.body.send_data(prefix.into(), false).expect("a call");
        let trickle = async {
            while call.body.send_data(Bytes::from_static(b"x"), false).is_ok() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let (reply, ()) = tokio::join!(call.response, trickle);
        assert_eq!(reply.expect("an answer").headers()["grpc-status"], "4");
    })
    .await;
}

/// A client that is slow, but not too slow: its calls are not in each other's way.
#[tokio::test]
async fn calls_take_turns() {
    let service = Service::with("").await;
    let mut raw = Raw::greeted(service.address, &[]).await;
    let message = framed(&request("alice").encode_to_vec());
    for stream in [1, 3, 5] {
        raw.write(&frame(HEADERS, END_HEADERS, stream, &head(LIMIT))).await;
    }
    for stream in [5, 1, 3] {
        raw.write(&frame(0, 1, stream, &message)).await;
        assert_eq!(raw.next_of(0).await.expect("an answer").stream, stream);
    }
}
