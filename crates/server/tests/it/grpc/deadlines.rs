//! Clients that say how long they wait.

use std::time::Duration;

use prost::Message;
use tokio::time::{Instant, timeout};
use tonic::Code;

use crate::grpc::client::{LIMIT, framed, request};
use crate::grpc::service::Service;

/// The store never answers, and the call waits as long as its deadline allows.
#[tokio::test]
async fn a_call_has_the_time_that_its_client_gives_it() {
    let service = Service::over_silence("").await;
    let mut client = service.client().await;
    let began = Instant::now();
    let message = framed(&request("alice").encode_to_vec());
    let call = client.call(LIMIT, &[("grpc-timeout", "400m")], message);
    let reply = timeout(Duration::from_secs(2), call).await.expect("five times as long");
    assert_eq!(reply.code(), Code::DeadlineExceeded, "{reply:?}");
    assert!(began.elapsed() >= Duration::from_millis(400));
}

#[tokio::test]
async fn what_the_header_says() {
    let service = Service::with("").await;
    let mut client = service.client().await;
    for (value, code) in [
        ("1H", Code::Ok),
        ("99999999H", Code::Ok),
        ("0m", Code::DeadlineExceeded),
        ("soon", Code::InvalidArgument),
        ("123456789m", Code::InvalidArgument),
    ] {
        let message = framed(&request("alice").encode_to_vec());
        let reply = client.call(LIMIT, &[("grpc-timeout", value)], message).await;
        assert_eq!(reply.code(), code, "{value}");
    }
}

/// Whoever takes its call back is not waited for: others are served, and its connection goes on.
#[tokio::test]
async fn a_cancelled_call() {
    let service = Service::over_silence("").await;
    let mut client = service.client().await;
    // More in all than may be under way at a time.
    for _ in 0..50 {
        let mut calls = Vec::new();
        for _ in 0..20 {
            let mut call = client.begin(LIMIT, &[]).await.expect("a call");
            call.body.send_data(framed(&request("alice").encode_to_vec()), true).expect("a call");
            calls.push(call);
        }
        // All of them have come when one that came after them is answered.
        let health = client.call("/grpc.health.v1.Health/Check", &[], framed(&[])).await;
        assert_eq!(health.code(), Code::Ok);
    }
}
