//! Whether it is good to send calls here.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use tonic::Code;

use crate::grpc::client::{Call, Client, framed, next};
use crate::grpc::service::Service;

const CHECK: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";

/// A request about a service, which is not longer than a length of one byte can say.
fn about(service: &str) -> Bytes {
    framed(&[&[0x0A, service.len() as u8], service.as_bytes()].concat())
}

/// The bytes of an answer with this status.
fn answer(status: u8) -> Bytes {
    framed(&[8, status])
}

const SERVING: u8 = 1;
const NOT_SERVING: u8 = 2;
const SERVICE_UNKNOWN: u8 = 3;

/// A server that has all of its connections is busy, and not dead.
#[tokio::test]
async fn health_is_answered_beyond_the_last_place() {
    let service = Service::bounded("max: 1").await;
    let mut open = service.client().await;
    assert_eq!(open.limit("alice").await.code(), Code::Ok);
    let reply = service.client().await.call(CHECK, &[], about("")).await;
    assert_eq!((reply.code(), reply.data), (Code::Ok, answer(SERVING)));
    assert_eq!(service.client().await.limit("alice").await.code(), Code::Unavailable);
}

#[tokio::test]
async fn every_service_is_as_the_process_is() {
    let service = Service::with("").await;
    let mut client = service.client().await;
    let valid = [
        "",
        "envoy.service.ratelimit.v3.RateLimitService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
    ];
    for name in valid {
        assert_eq!(client.call(CHECK, &[], about(name)).await.data, answer(SERVING), "{name:?}");
    }
    assert_eq!(client.call(CHECK, &[], framed(&[])).await.data, answer(SERVING));
    let unknown = client.call(CHECK, &[], about("nothing")).await;
    assert_eq!((unknown.code(), &*unknown.text()), (Code::NotFound, "unknown service \"nothing\""));
}

async fn watch(client: &mut Client, service: &str) -> Call {
    let mut call = client.begin(WATCH, &[]).await.expect("a call");
    call.body.send_data(about(service), true).expect("a call");
    call
}

#[tokio::test]
async fn a_watcher_gets_changes() {
    let mut service = Service::with("shutdown_delay: 2s").await;
    let mut client = service.client().await;
    let valid = watch(&mut client, "").await;
    let unknown = watch(&mut client, "nothing").await;
    let mut valid = valid.response.await.expect("an answer").into_body();
    let mut unknown = unknown.response.await.expect("an answer").into_body();
    assert_eq!(next(&mut valid).await.expect("a message"), Some(answer(SERVING)));
    assert_eq!(next(&mut unknown).await.expect("a message"), Some(answer(SERVICE_UNKNOWN)));
    service.tell_to_stop();
    let changed = timeout(Duration::from_secs(2), next(&mut valid)).await.expect("while it still answers");
    assert_eq!(changed.expect("a message"), Some(answer(NOT_SERVING)));
    assert_eq!(client.call(CHECK, &[], framed(&[])).await.data, answer(NOT_SERVING));
    for mut body in [valid, unknown] {
        assert_eq!(next(&mut body).await.expect("an end"), None);
        let trailers = body.trailers().await.expect("an end").expect("trailers");
        assert_eq!(trailers["grpc-status"], "14");
    }
    service.ended().await;
}

/// Otherwise a watch would have its slot for ever.
#[tokio::test]
async fn a_watch_alone_leaves_a_connection_idle() {
    let service = Service::bounded("idle_timeout: 400ms").await;
    let mut client = service.client().await;
    let mut body = watch(&mut client, "").await.response.await.expect("an answer").into_body();
    assert_eq!(next(&mut body).await.expect("a message"), Some(answer(SERVING)));
    let end = timeout(Duration::from_secs(2), next(&mut body)).await.expect("five times as long");
    assert_eq!(end.expect("an end"), None);
    assert!(client.ended_well().await);
    assert_eq!(service.app.connection_stats().ended_idle, 1);
}

/// Half of a request to look on.
#[tokio::test]
async fn who_never_says_at_what() {
    let service = Service::bounded("body_timeout: 400ms").await;
    let mut client = service.client().await;
    let mut call = client.begin(WATCH, &[]).await.expect("a call");
    call.body.send_data(about("")[..3].to_vec().into(), false).expect("a call");
    let reply = timeout(Duration::from_secs(2), call.reply()).await.expect("five times as long");
    assert_eq!(reply.expect("an answer").code(), Code::DeadlineExceeded);
}
