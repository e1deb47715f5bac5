//! Connections: several requests on one, ids, and time-outs.

use std::time::Duration;

use crate::http::client::{Client, bytes_of};
use crate::http::service::{Kind, Service};
use crate::service::{lasts, trickle};

const POLICY: &str = "rules: [{ name: api, key: [user], limits: [3/min] }]";
const BODY: &[u8] = br#"{"attributes":{"user":"alice"}}"#;

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let service = Service::start(Kind::Memory, POLICY).await;
    let mut client = service.client().await;
    let one = bytes_of("POST", "/v1/check", &[], BODY);
    let wrong = bytes_of("POST", "/v1/check", &[], b"{}");
    client.write(&[&one[..], &one, &wrong, &one, &one].concat()).await;
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(client.receive("POST", "/v1/check").await.status);
    }
    assert_eq!(statuses, [200, 200, 400, 200, 429]);
}

#[tokio::test]
async fn every_answer_has_an_id() {
    let service = Service::start(Kind::Memory, POLICY).await;
    let mut client = service.client().await;
    let answer = client.get("/nothing", &[("x-request-id", "from-the-client/1")]).await;
    assert_eq!(answer.header("x-request-id"), Some("from-the-client/1"));
    let mut ids = std::collections::HashSet::new();
    for _ in 0..3 {
        let mut client = service.client().await;
        for _ in 0..3 {
            let answer = client.get("/", &[("x-request-id", "two words")]).await;
            assert!(ids.insert(answer.header("x-request-id").expect("an id").to_owned()));
        }
    }
}

/// Time only moves when nobody has anything else to do, so that nothing is waited for.
#[tokio::test(start_paused = true)]
async fn who_never_finishes_a_request_is_cut_off() {
    let service = Service::start(Kind::Memory, POLICY).await;
    for (bytes, status) in UNFINISHED {
        let mut client = Client::connect(service.address, None).await;
        client.write(bytes.as_bytes()).await;
        is_refused(&mut client, status).await;
    }
    assert_eq!(service.app.connection_stats().ended_slow, 3);
}

/// Incomplete requests, and the status of the response, if there is one.
const UNFINISHED: [(&str, Option<u16>); 3] = [
    ("", None),
    ("POST /v1/check HTTP/1.1\r\nhost", Some(408)),
    ("POST /v1/check HTTP/1.1\r\ncontent-length: 9\r\n\r\n{", Some(408)),
];

async fn is_refused(client: &mut Client, status: Option<u16>) {
    if let Some(status) = status {
        let answer = client.receive("POST", "/v1/check").await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.header("connection"), Some("close"));
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert!(answer.header("x-request-id").is_some());
        assert_eq!(answer.at("/status"), status);
    }
    assert!(client.is_ended().await);
}

/// Maximum time of a test: five times its own.
const TIME: Duration = Duration::from_millis(200);

fn policy(connections: &str) -> String {
    format!("server: {{ connections: {{ {connections} }} }}\n{POLICY}")
}

#[tokio::test]
async fn time_outs_are_those_of_the_settings() {
    let settings = ["head_timeout: 200ms", "head_timeout: 200ms", "body_timeout: 200ms"];
    for (settings, (bytes, status)) in settings.into_iter().zip(UNFINISHED) {
        let service = Service::start(Kind::Memory, &policy(settings)).await;
        lasts(TIME, async {
            let mut client = Client::connect(service.address, None).await;
            client.write(bytes.as_bytes()).await;
            is_refused(&mut client, status).await;
        })
        .await;
    }
}

/// However often it sends something.
#[tokio::test]
async fn a_trickle_is_no_progress() {
    let body = "POST /v1/check HTTP/1.1\r\ncontent-length: 99999\r\n\r\n";
    for (settings, first) in [("head_timeout: 200ms", "POST /v1/ch"), ("body_timeout: 200ms", body)] {
        let service = Service::start(Kind::Memory, &policy(settings)).await;
        lasts(TIME, async {
            assert_eq!(&trickle(service.address, first).await, b"HTTP/1.1 408", "{settings}");
        })
        .await;
        assert_eq!(service.app.connection_stats().ended_slow, 1, "{settings}");
    }
}

#[tokio::test]
async fn who_asks_nothing_more_is_ended() {
    let service = Service::start(Kind::Memory, &policy("idle_timeout: 200ms")).await;
    let mut client = service.client().await;
    assert_eq!(client.get("/", &[]).await.status, 200);
    lasts(TIME, async { assert!(client.is_ended().await) }).await;
    assert!(service.app.connection_stats().ended_idle >= 1);
}

/// Answers fill what the system keeps for a connection, and then nothing moves.
#[tokio::test]
async fn who_takes_no_answers_is_ended() {
    let service = Service::start(Kind::Memory, &policy("write_timeout: 200ms")).await;
    let mut client = service.client().await;
    let requests = bytes_of("GET", "/openapi.json", &[], b"").repeat(100);
    lasts(TIME, async { while client.try_write(&requests).await.is_ok() {} }).await;
    assert_eq!(service.app.connection_stats().ended_slow, 1);
}

/// Half of a head that came together with a whole request.
#[tokio::test]
async fn half_a_head_after_a_request_times_out() {
    let service = Service::start(Kind::Memory, &policy("idle_timeout: 200ms")).await;
    let mut client = service.client().await;
    client.write(&[&bytes_of("GET", "/", &[], b"")[..], b"POST /v1/che"].concat()).await;
    assert_eq!(client.receive("GET", "/").await.status, 200);
    is_refused(&mut client, Some(408)).await;
}

#[tokio::test]
async fn so_many_requests_for_a_connection() {
    let service = Service::start(Kind::Memory, &policy("max_requests: 3")).await;
    let mut client = service.client().await;
    for last in [None, None, Some("close")] {
        let answer = client.send("POST", "/v1/check", &[], BODY).await;
        assert_eq!((answer.status, answer.header("connection")), (200, last));
    }
    assert!(client.is_ended().await);
}
