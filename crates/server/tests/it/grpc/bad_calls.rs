//! Invalid calls: each gets its error, and the connection continues.

use bytes::Bytes;
use prost::Message;
use tonic::Code;

use crate::grpc::client::{LIMIT, framed, request};
use crate::grpc::proto::Code::OverLimit;
use crate::grpc::proto::{self, RateLimitResponse};
use crate::grpc::service::Service;

/// Name of the case, bytes of the call, and the expected error.
fn rows() -> Vec<(&'static str, Vec<u8>, Code, &'static str)> {
    let one = framed(&request("alice").encode_to_vec()).to_vec();
    let twice = one.repeat(2);
    let compressed = [&[1], &one[1..]].concat();
    let cut = one[..one.len() - 1].to_vec();
    vec![
        ("nothing", vec![], Code::Unimplemented, "exactly one message"),
        ("two messages", twice, Code::Unimplemented, "exactly one message"),
        ("a compressed message", compressed, Code::Unimplemented, "not supported"),
        ("half of a prefix", one[..3].to_vec(), Code::Internal, "within a message"),
        ("half of a message", cut, Code::Internal, "within a message"),
        ("not protobuf", framed(&[0x0A, 0xFF]).to_vec(), Code::Internal, "invalid message"),
        ("not UTF-8", framed(&[0x0A, 1, 0xFF]).to_vec(), Code::Internal, "invalid message"),
    ]
}

#[tokio::test]
async fn each_error_names_its_cause() {
    let service = Service::with("").await;
    let mut client = service.client().await;
    for (what, bytes, code, text) in rows() {
        let reply = client.call(LIMIT, &[], bytes.into()).await;
        assert_eq!((reply.http, reply.code()), (200, code), "{what}: {reply:?}");
        assert!(reply.text().contains(text), "{what}: {reply:?}");
        assert_eq!(reply.headers["content-type"], "application/grpc");
    }
    assert_eq!(client.limit("alice").await.code(), Code::Ok);
}

/// However the bytes of a call are cut into frames, it is the same call.
#[tokio::test]
async fn in_pieces() {
    let service = Service::with("").await;
    let mut client = service.client().await;
    let good = framed(&request("alice").encode_to_vec()).to_vec();
    let rows = rows().into_iter().map(|(what, bytes, code, _)| (what, bytes, code));
    for (what, bytes, code) in rows.chain([("as it should be", good, Code::Ok)]) {
        for size in [1, 4, 7] {
            let mut call = client.begin(LIMIT, &[]).await.expect("a call");
            for piece in bytes.chunks(size) {
                if call.body.send_data(Bytes::copy_from_slice(piece), false).is_err() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            let _answered = call.body.send_data(Bytes::new(), true);
            assert_eq!(call.reply().await.expect("an answer").code(), code, "{what}, by {size}");
        }
    }
}

#[tokio::test]
async fn what_is_not_there() {
    let service = Service::with("").await;
    let mut client = service.client().await;
    for path in ["/", "/envoy.service.ratelimit.v3.RateLimitService/Nothing", "/v1/check"] {
        let reply = client.call(path, &[], framed(&[])).await;
        assert_eq!((reply.http, reply.code()), (200, Code::Unimplemented), "{path}");
        assert!(reply.text().contains(path));
    }
}

#[tokio::test]
async fn what_is_not_grpc() {
    let service = Service::with("").await;
    let mut client = service.client().await;
    let rows = [
        ("application/json", Some(415)),
        ("application/grpc-web", Some(415)),
        ("application/grpcx", Some(415)),
        ("application/grpc+json", Some(415)),
        ("application/grpc+proto", None),
        ("application/grpc;charset=utf-8", None),
    ];
    for (content_type, status) in rows {
        let message = framed(&request("alice").encode_to_vec());
        let reply = client.call(LIMIT, &[("content-type", content_type)], message).await;
        assert_eq!(reply.http, status.unwrap_or(200), "{content_type}");
        assert!(status.is_some() || reply.code() == Code::Ok, "{content_type}: {reply:?}");
    }
}

/// An error would let a request pass where Envoy is not configured otherwise; so an unread call is
/// refused.
#[tokio::test]
async fn what_is_too_large_is_over_the_limit() {
    let service = Service::with("").await;
    let mut client = service.client().await;
    for length in [65_537, u32::MAX] {
        let bytes = [&[0][..], &length.to_be_bytes(), &[0; 100]].concat();
        let reply = client.call(LIMIT, &[], bytes.into()).await;
        assert_eq!(reply.code(), Code::Ok, "{reply:?}");
        let response = RateLimitResponse::decode(&reply.data[5..]).expect("an answer");
        assert_eq!((response.overall_code, response.statuses.len()), (OverLimit as i32, 0));
        let why = format!("a message has at most 65536 bytes, not {length}");
        assert!(format!("{:?}", response.dynamic_metadata).contains(&why), "{response:?}");
    }
    let bytes = [&[0][..], &65_537_u32.to_be_bytes()].concat();
    let reply = client.call("/grpc.health.v1.Health/Check", &[], bytes.into()).await;
    assert_eq!(reply.code(), Code::ResourceExhausted);
}

/// A header of a client may have any bytes, and Envoy sends them as they are.
#[tokio::test]
async fn values_that_are_no_text() {
    let service = Service::start("rules: [{ name: user, key: [user], limits: [1/h] }]").await;
    let mut client = service.client().await;
    // The value ends the message.
    let mut message = request("zz").encode_to_vec();
    let value = message.len() - 2;
    message[value..].copy_from_slice(b"\xFF\xFE");
    for code in [proto::Code::Ok, OverLimit] {
        let reply = client.call(LIMIT, &[], framed(&message)).await;
        let response = RateLimitResponse::decode(&reply.data[5..]).expect("an answer");
        assert_eq!(response.overall_code, code as i32);
    }
}
