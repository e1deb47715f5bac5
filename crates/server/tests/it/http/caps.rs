//! What connections may take: how many there are, and how large what they send.

use std::time::Duration;

use tokio::time::timeout;

use crate::http::client::{Client, Response, bytes_of};
use crate::http::service::{Kind, Service};

const CHECK: &[u8] = br#"{"attributes":{"user":"alice"}}"#;

async fn service(connections: &str) -> Service {
    let rules = "rules: [{ name: api, key: [user], limits: [1000/min] }]";
    let service =
        Service::start(Kind::Memory, &format!("server: {{ connections: {{ {connections} }} }}\n{rules}"))
            .await;
    // The one that fetched the document has left.
    until(|| service.app.connection_stats().open == 0).await;
    service
}

async fn until(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(10), wait).await.expect("it becomes so");
}

/// Connects, and sends a request.
async fn request(service: &Service, from: [u8; 4]) -> (Client, Response) {
    let mut client = Client::connect_from(from, service.address).await;
    let answer = client.send("POST", "/v1/check", &[], CHECK).await;
    (client, answer)
}

fn is_turned_away(answer: &Response) {
    assert_eq!(answer.status, 503, "{answer:?}");
    let kind = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
    assert_eq!(answer.at("/type"), kind);
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert!(answer.header("x-request-id").is_some());
}

const ONE: [u8; 4] = [127, 0, 0, 1];
const OTHER: [u8; 4] = [127, 0, 0, 2];

#[tokio::test]
async fn so_many_at_a_time() {
    let service = service("max: 2").await;
    let first = request(&service, ONE).await;
    let second = request(&service, OTHER).await;
    assert_eq!((first.1.status, second.1.status), (200, 200));
    let (mut third, answer) = request(&service, OTHER).await;
    is_turned_away(&answer);
    assert!(third.is_ended().await);
    let stats = service.app.connection_stats();
    assert_eq!((stats.turned_away, stats.dropped), (1, 0));
    drop(first);
    until(|| service.app.connection_stats().open == 1).await;
    assert_eq!(request(&service, OTHER).await.1.status, 200);
}

#[tokio::test]
async fn so_many_from_one_address() {
    let service = service("max_per_address: 2").await;
    let _open = [request(&service, ONE).await, request(&service, ONE).await];
    is_turned_away(&request(&service, ONE).await.1);
    assert_eq!(request(&service, OTHER).await.1.status, 200, "others are not in its way");
}

/// A connection with an incomplete request: it is not idle, and has its slot until `head_timeout`.
async fn occupies(service: &Service) -> Client {
    let mut client = Client::connect(service.address, None).await;
    client.write(b"POST /v1/check HTTP/1.1\r\nhost: a\r\n").await;
    client
}

/// A silent surplus connection is closed after a short time, or at once if too many are silent: the
/// oldest first.
#[tokio::test]
async fn surplus_connections_are_bounded_too() {
    let service = service("max: 1, head_timeout: 60s").await;
    let _open = occupies(&service).await;
    let mut silent = Vec::new();
    for _ in 0..257 {
        silent.push(Client::connect(service.address, None).await);
    }
    until(|| service.app.connection_stats().dropped == 1).await;
    assert!(timeout(Duration::from_secs(1), silent[0].is_ended()).await.expect("at once"));
    for client in &mut silent {
        assert!(timeout(Duration::from_secs(10), client.is_ended()).await.expect("after two seconds"));
    }
    assert_eq!(service.app.connection_stats().dropped, 1);
    is_turned_away(&request(&service, ONE).await.1);
}

/// Supervisors are answered whatever others do: also when every slot is taken, and more surplus
/// connections than there may be are silent.
#[tokio::test]
async fn health_is_answered_beyond_the_last_slot() {
    let service = service("max: 1, head_timeout: 60s").await;
    let _open = occupies(&service).await;
    let mut silent = Vec::new();
    for silent_count in [0, 10, 400] {
        while silent.len() < silent_count {
            silent.push(Client::connect(service.address, None).await);
        }
        for (target, body) in
            [("/livez", "/live"), ("/readyz", "/ready"), ("/readyz?store=required", "/ready")]
        {
            let mut client = Client::connect(service.address, None).await;
            let answer = client.get(target, &[]).await;
            assert_eq!(answer.status, 200, "{target} beside {silent_count}: {answer:?}");
            assert_eq!(answer.at(body), true);
            assert_eq!(answer.header("connection"), Some("close"));
        }
        is_turned_away(&request(&service, ONE).await.1);
    }
    service.app.begin_shutdown();
    let mut client = Client::connect(service.address, None).await;
    assert_eq!(client.get("/readyz", &[]).await.status, 503, "it shuts down");
}

/// Under pressure the connection that has been idle for longest makes room for a new one.
#[tokio::test]
async fn the_longest_idle_connection_is_closed_first() {
    let service = service("max: 3").await;
    let (mut first, _) = request(&service, ONE).await;
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let (mut second, _) = request(&service, ONE).await;
    let mut busy = occupies(&service).await;
    is_turned_away(&request(&service, OTHER).await.1);
    assert_eq!(service.app.connection_stats().ended_for_room, 0, "nobody has been idle for long");
    tokio::time::sleep(Duration::from_millis(2_000)).await;
    let (mut third, answer) = request(&service, OTHER).await;
    assert_eq!(answer.status, 200);
    assert!(timeout(Duration::from_secs(1), first.is_ended()).await.expect("at once"));
    let stats = service.app.connection_stats();
    assert_eq!((stats.ended_for_room, stats.turned_away), (1, 1));
    busy.write(b"content-length: 31\r\ncontent-type: application/json\r\n\r\n").await;
    busy.write(CHECK).await;
    assert_eq!(busy.receive("POST", "/v1/check").await.status, 200);
    for client in [&mut second, &mut third] {
        assert_eq!(client.send("POST", "/v1/check", &[], CHECK).await.status, 200);
    }
}

/// Its sender sees the answer although it has only begun, and is not listened to for long.
#[tokio::test]
async fn a_hundred_megabytes() {
    let service = service("max_body: 1KiB").await;
    let mut client = Client::connect(service.address, None).await;
    client.write(b"POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 100000000\r\n\r\n").await;
    client.write(&[b' '; 1 << 20]).await;
    let answer = client.receive("POST", "/v1/check").await;
    assert_eq!((answer.status, answer.detail().as_str()), (413, "a body has at most 1024 bytes"));
    let mut sent_bytes = 1 << 20;
    while client.try_write(&[b' '; 1 << 16]).await.is_ok() {
        sent_bytes += 1 << 16;
    }
    assert!(sent_bytes < 50_000_000, "{sent_bytes} bytes were taken");
}

/// A client that sends `Expect` gets no 100, and one of unknown length is stopped.
#[tokio::test]
async fn a_body_that_is_announced() {
    let service = service("max_body: 1KiB").await;
    for (length, status) in [("content-length: 100000000", 413), ("content-length: 31", 100)] {
        let mut client = Client::connect(service.address, None).await;
        let head = format!("POST /v1/check HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\n{length}\r\n\r\n");
        client.write(head.as_bytes()).await;
        assert_eq!(client.receive("POST", "/v1/check").await.status, status, "{length}");
    }
}

#[tokio::test]
async fn a_head_that_is_too_large() {
    let service = service("max_head: 8KiB").await;
    for (padding_bytes, status) in [(4_000, 200), (9_000, 431), (1_000_000, 431)] {
        let mut client = Client::connect(service.address, None).await;
        let padding = "x".repeat(padding_bytes);
        let request = bytes_of("POST", "/v1/check", &[("x-padding", &padding)], CHECK);
        // The response may come before it has sent all of it.
        let _cut = client.try_write(&request).await;
        assert_eq!(client.receive("POST", "/v1/check").await.status, status, "{padding_bytes}");
    }
}
