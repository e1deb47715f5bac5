//! What connections and calls may take: how many there are, and how large.

use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use slidegate_testkit::http2::{END_HEADERS, HEADERS, REFUSED_STREAM, RST_STREAM, Raw, frame, head};
use tokio::time::timeout;
use tonic::Code;

use crate::grpc::client::{Client, LIMIT, framed, request};
use crate::grpc::proto::{self, RateLimitResponse};
use crate::grpc::service::Service;

const ONE: [u8; 4] = [127, 0, 0, 1];
const OTHER: [u8; 4] = [127, 0, 0, 2];

/// A surplus connection gets a status, and ends.
#[tokio::test]
async fn so_many_connections() {
    for bound in ["max: 1", "max_per_address: 1"] {
        let service = Service::bounded(bound).await;
        let mut open = Client::connect_from(ONE, service.address).await;
        assert_eq!(open.limit("alice").await.code(), Code::Ok);
        let mut second = Client::connect_from(ONE, service.address).await;
        let reply = second.limit("alice").await;
        assert_eq!(reply.code(), Code::Unavailable, "{bound}: {reply:?}");
        assert!(reply.text().contains("too many connections"), "{bound}: {reply:?}");
        assert!(second.ended_well().await, "{bound}");
        let other = Client::connect_from(OTHER, service.address).await.limit("alice").await.code();
        assert_eq!(other, if bound == "max: 1" { Code::Unavailable } else { Code::Ok }, "{bound}");
        drop(open);
        service.until_open(0).await;
        assert_eq!(Client::connect_from(ONE, service.address).await.limit("alice").await.code(), Code::Ok);
    }
}

#[tokio::test]
async fn so_many_calls_for_a_connection() {
    let service = Service::bounded("max_requests: 3").await;
    let mut client = service.client().await;
    for _ in 0..3 {
        assert_eq!(client.limit("alice").await.code(), Code::Ok);
    }
    assert!(client.ended_well().await);
}

/// Client that ignores the limit of concurrent calls.
#[tokio::test]
async fn so_many_calls_at_a_time() {
    let service = Service::with("").await;
    let mut raw = Raw::greeted(service.address, &[]).await;
    for stream in 0..257 {
        raw.write(&frame(HEADERS, END_HEADERS, 2 * stream + 1, &head(LIMIT))).await;
    }
    let refused = raw.next_of(RST_STREAM).await.expect("an answer");
    assert_eq!((refused.stream, refused.number(0)), (2 * 256 + 1, REFUSED_STREAM));
    service.answers_others().await;
}

#[tokio::test]
async fn a_message_is_as_large_as_a_body_may_be() {
    let service = Service::bounded("max_body: 1KiB").await;
    let mut client = service.client().await;
    for (length, code) in [(1_024, proto::Code::Ok), (1_025, proto::Code::OverLimit)] {
        let empty_bytes = request("").encoded_len();
        // A value that is not empty begins with two bytes, and three lengths take a byte more now.
        let message = request(&"x".repeat(length - empty_bytes - 5)).encode_to_vec();
        assert_eq!(message.len(), length);
        let reply = client.call(LIMIT, &[], framed(&message)).await;
        let response = RateLimitResponse::decode(&reply.data[5..]).expect("an answer");
        assert_eq!(response.overall_code, code as i32, "{length}");
    }
    let requests = service.app.telemetry().expect("telemetry is on").requests();
    assert_eq!((requests.allowed, requests.blocked), (1, 1), "every call is counted");
}

/// What is announced and not sent takes no room; what is sent is not read to its end.
#[tokio::test]
async fn a_hundred_megabytes() {
    let service = Service::with("").await;
    let mut client = service.client().await;
    let mut call = client.begin(LIMIT, &[]).await.expect("a call");
    let prefix = [&[0][..], &100_000_000_u32.to_be_bytes()].concat();
    call.body.send_data(prefix.into(), false).expect("a call");
    let _more = call.body.send_data(Bytes::from(vec![0; 1 << 20]), false);
    let reply = timeout(Duration::from_secs(10), call.reply()).await.expect("at once").expect("an answer");
    let response = RateLimitResponse::decode(&reply.data[5..]).expect("an answer");
    assert_eq!(response.overall_code, proto::Code::OverLimit as i32);
    assert_eq!(client.limit("alice").await.code(), Code::Ok);
}

#[tokio::test]
async fn a_head_that_is_too_large() {
    let service = Service::bounded("max_head: 8KiB").await;
    for (padding_bytes, is_served) in [(4_000, true), (9_000, false), (1_000_000, false)] {
        let mut client = service.client().await;
        let padding = "x".repeat(padding_bytes);
        let mut call = match client.begin(LIMIT, &[("x-padding", &padding)]).await {
            Ok(call) => call,
            Err(error) => panic!("{padding_bytes}: {error}"),
        };
        let _cut = call.body.send_data(framed(&request("alice").encode_to_vec()), true);
        let served = matches!(call.reply().await, Ok(reply) if reply.http == 200);
        assert_eq!(served, is_served, "{padding_bytes}");
    }
    service.answers_others().await;
}
