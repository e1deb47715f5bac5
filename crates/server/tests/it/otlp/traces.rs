//! Every check leaves a span, over every protocol.

use prost::Message;
use serde_json::json;

use crate::grpc::client::{self as grpc, LIMIT, framed};
use crate::otlp::collector::{Collector, Received};
use crate::otlp::http::{check, send};
use crate::otlp::service::Service;
use crate::otlp::spans::{spans, texts};
use crate::resp::client as resp;

const RULES: &str = "
rules:
  - { name: login, match: { path: /login }, key: [ip], limits: [1/min] }
  - { name: closed, match: { path: /closed }, key: [ip], limits: [1/min], deny: [{ ip: 203.0.113.7 }] }
  - { name: watched, match: { path: /watched }, key: [ip], limits: [1/min], mode: observe }
  - { name: users, match: { domain: test }, key: [user], limits: [1/min] }
  - { name: rlaas, match: { path: /none }, key: [userId], limits: [1/min] }
";

/// Name, protocol, outcome, rule, remaining and would-deny of each span.
fn summaries(received: &[Received]) -> Vec<[String; 6]> {
    let summaries = spans(received).into_iter().map(|span| {
        let of = texts(&span.attributes);
        let of = |name: &str| of.get(name).cloned().unwrap_or_default();
        let [protocol, outcome, rule] =
            ["protocol", "outcome", "rule"].map(|name| of(&format!("slidegate.{name}")));
        [span.name, protocol, outcome, rule, of("slidegate.remaining"), of("slidegate.would_deny")]
    });
    summaries.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http() {
    let collector = Collector::start().await;
    let service = Service::start(&collector.setting("100%"), RULES).await;
    let mut statuses = Vec::new();
    for path in ["/login", "/login", "/closed", "/watched", "/watched", "/elsewhere"] {
        statuses.push(check(service.http, path, &[]).await);
    }
    assert_eq!(statuses, [200, 429, 403, 200, 200, 200]);
    let limit = json!({ "key": "a", "quota": 1, "window_ms": 60_000 }).to_string();
    for expected in [200, 429] {
        assert_eq!(send(service.http, "POST /v1/limit", &[], &limit).await.0, expected);
    }
    let login = [("x-forwarded-uri", "/login"), ("x-forwarded-method", "POST")];
    assert_eq!(send(service.http, "GET /v1/authorize", &login, "").await.0, 200);
    assert_eq!(send(service.http, "GET /check?userId=alice", &[], "").await.0, 200);
    let descriptors =
        json!({ "domain": "test", "descriptors": [{ "entries": [{ "key": "user", "value": "bob" }] }] });
    assert_eq!(send(service.http, "POST /json", &[], &descriptors.to_string()).await.0, 200);
    // What is no check leaves nothing.
    assert_eq!(send(service.http, "GET /livez", &[], "").await.0, 200);
    assert_eq!(send(service.http, "POST /v1/check", &[], "{").await.0, 400);
    service.stop().await;
    let found = summaries(&collector.all());
    let expected = [
        ["POST /v1/check", "http", "allowed", "login", "0", ""],
        ["POST /v1/check", "http", "denied", "login", "0", ""],
        ["POST /v1/check", "http", "barred", "closed", "", ""],
        ["POST /v1/check", "http", "allowed", "", "", ""],
        ["POST /v1/check", "http", "allowed", "", "", "watched"],
        ["POST /v1/check", "http", "unlimited", "", "", ""],
        ["POST /v1/limit", "http", "allowed", "", "", ""],
        ["POST /v1/limit", "http", "denied", "", "", ""],
        ["/v1/authorize", "http", "allowed", "login", "0", ""],
        ["GET /check", "http", "allowed", "rlaas", "0", ""],
        ["POST /json", "http", "allowed", "users", "0", ""],
    ];
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn over_grpc_and_in_the_protocol_of_redis() {
    let collector = Collector::start().await;
    let service = Service::start(&collector.setting("100%"), RULES).await;
    let mut grpc = grpc::Client::connect(service.grpc).await;
    for _ in 0..2 {
        grpc.call(LIMIT, &[], framed(&grpc::request("bob").encode_to_vec())).await;
    }
    let mut redis = resp::Client::connect(service.resp).await;
    let commands = [
        "SG.CHECK 1 path /login ip 192.0.2.1",
        "SG.CHECK 1 path /login ip 192.0.2.1",
        "SG.LIMIT a 1 60000",
        "CL.THROTTLE a 0 1 60",
        "CL.THROTTLE a 0 1 60",
    ];
    let mut first = Vec::new();
    for command in commands {
        match redis.say(command).await {
            resp::Reply::Array(numbers) => first.push(numbers[0].clone()),
            other => panic!("{command}: {other:?}"),
        }
    }
    assert_eq!(first, [1, 0, 1, 0, 1].map(resp::Reply::Integer));
    service.stop().await;
    let call = &LIMIT[1..];
    let expected = [
        [call, "grpc", "allowed", "users", "0", ""],
        [call, "grpc", "denied", "users", "0", ""],
        ["SG.CHECK", "resp", "allowed", "login", "0", ""],
        ["SG.CHECK", "resp", "denied", "login", "0", ""],
        ["SG.LIMIT", "resp", "allowed", "", "", ""],
        ["CL.THROTTLE", "resp", "allowed", "", "", ""],
        ["CL.THROTTLE", "resp", "denied", "", "", ""],
    ];
    assert_eq!(summaries(&collector.all()), expected);
}

/// The store says nothing, and the rule denies meanwhile: Envoy is told that there is no answer,
/// and so is the collector.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_an_answer() {
    let collector = Collector::start().await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let store =
        format!("store: {{ kind: redis, url: 'redis://{}' }}", silent.local_addr().expect("an address"));
    let rules = "rules: [{ name: users, key: [user], limits: [1/min], on_store_error: deny }]";
    let service = Service::start(&collector.setting("100%"), &format!("{store}\n{rules}")).await;
    let mut grpc = grpc::Client::connect(service.grpc).await;
    let reply = grpc.call(LIMIT, &[], framed(&grpc::request("bob").encode_to_vec())).await;
    assert_eq!(reply.code(), tonic::Code::Unavailable);
    service.stop().await;
    let received = collector.all();
    assert_eq!(summaries(&received), [[&LIMIT[1..], "grpc", "failed", "users", "", ""]]);
    let status = spans(&received)[0].status.clone().expect("a status");
    assert_eq!((status.code, &*status.message), (2, "the store is unavailable"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_client_is_named() {
    let collector = Collector::start().await;
    let service = Service::start(&collector.setting("100%"), RULES).await;
    for _ in 0..3 {
        check(service.http, "/login", &[]).await;
    }
    service.stop().await;
    let received = collector.all();
    assert_eq!(spans(&received).len(), 3);
    for message in received {
        let bytes = String::from_utf8_lossy(&message.body);
        assert!(!bytes.contains("203.0.113.7") && !bytes.contains("mallory"), "{}", message.path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_setting_nothing_is_sent() {
    let collector = Collector::start().await;
    let service = Service::start("", RULES).await;
    let parent = [("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")];
    assert_eq!(check(service.http, "/login", &parent).await, 200);
    service.stop().await;
    assert_eq!(collector.all().len(), 0);
}
