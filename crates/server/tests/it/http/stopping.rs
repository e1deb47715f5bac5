//! Shutdown: requests in progress are answered, and every response ends its connection.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::http::client::{Client, bytes_of};
use crate::http::service::{Kind, Service};

const BODY: &[u8] = br#"{"attributes":{"user":"alice"}}"#;

fn policy(server: &str) -> String {
    format!("server: {{ {server} }}\nrules: [{{ name: api, key: [user], limits: [1000/min] }}]")
}

async fn is_last(client: &mut Client, status: u16) {
    let answer = client.receive("POST", "/v1/check").await;
    assert_eq!((answer.status, answer.header("connection")), (status, Some("close")), "{answer:?}");
    assert!(client.is_ended().await);
}

/// Half a request is here, and the rest comes when it is over for everybody else.
#[tokio::test]
async fn what_was_begun_is_answered() {
    let request = bytes_of("POST", "/v1/check", &[], BODY);
    // In the head, in the body; as the first request, and as a later one; by itself, and behind
    // another.
    for cut in [1, 20, request.len() - 5] {
        for earlier in [0, 1] {
            for together in [false, true] {
                let service = Service::start(Kind::Memory, &policy("")).await;
                let address = service.address;
                let mut client = service.client().await;
                let before = request.repeat(earlier);
                if together {
                    client.write(&[&before[..], &request[..cut]].concat()).await;
                } else {
                    client.write(&before).await;
                }
                for _ in 0..earlier {
                    assert_eq!(client.receive("POST", "/v1/check").await.status, 200);
                }
                if !together {
                    client.write(&request[..cut]).await;
                }
                let served = service.stop();
                while TcpStream::connect(address).await.is_ok() {}
                client.write(&request[cut..]).await;
                is_last(&mut client, 200).await;
                timeout(Duration::from_secs(5), served).await.expect("no waiting").expect("an end");
            }
        }
    }
}

/// One that is open, but of which nothing was read, has a moment for its first request.
#[tokio::test]
async fn who_has_just_come_may_still_ask() {
    let service = Service::start(Kind::Memory, &policy("")).await;
    let address = service.address;
    let mut fresh = service.client().await;
    let mut idle = service.client().await;
    assert_eq!(idle.send("POST", "/v1/check", &[], BODY).await.status, 200);
    let mut silent = service.client().await;
    let served = service.stop();
    while TcpStream::connect(address).await.is_ok() {}
    for client in [&mut fresh, &mut idle] {
        client.write(&bytes_of("POST", "/v1/check", &[], BODY)).await;
        is_last(client, 200).await;
    }
    assert!(silent.is_ended().await);
    served.await.expect("an end");
}

/// Clients that connect meanwhile get a response that ends the connection.
#[tokio::test]
async fn balancers_have_time_to_notice() {
    let service = Service::start(Kind::Memory, &policy("shutdown_delay: 2s")).await;
    let (address, app) = (service.address, service.app.clone());
    let mut open = service.client().await;
    assert_eq!(open.send("POST", "/v1/check", &[], BODY).await.header("connection"), None);
    assert!(app.is_ready());
    let served = service.stop();
    while app.is_ready() {
        tokio::task::yield_now().await;
    }
    let mut fresh = Client::connect(address, None).await;
    for client in [&mut open, &mut fresh] {
        client.write(&bytes_of("POST", "/v1/check", &[], BODY)).await;
        is_last(client, 200).await;
    }
    served.await.expect("an end");
    assert!(TcpStream::connect(address).await.is_err());
}

/// Nobody is left without a word when the time is over.
#[tokio::test]
async fn open_requests_get_an_error_at_the_deadline() {
    let policy = "
server: { shutdown_timeout: 200ms }
rules: [{ name: api, key: [user], limits: [1/20s] }]
";
    let service = Service::start_in_real_time(Kind::Memory, policy).await;
    let mut waiting = service.client().await;
    assert_eq!(waiting.send("POST", "/v1/check", &[], BODY).await.status, 200);
    let patient = br#"{"attributes":{"user":"alice"},"wait_ms":30000}"#;
    waiting.write(&bytes_of("POST", "/v1/check", &[], patient)).await;
    while service.app.waiting() == 0 {
        tokio::task::yield_now().await;
    }
    let mut clients = vec![waiting];
    for part in ["POST /v1/check HTTP/1.1\r\nhost", "POST /v1/check HTTP/1.1\r\ncontent-length: 9\r\n\r\n{"] {
        let mut client = service.client().await;
        client.write(part.as_bytes()).await;
        clients.push(client);
    }
    let app = service.app.clone();
    let served = service.stop();
    for client in &mut clients {
        let answer = client.receive("POST", "/v1/check").await;
        assert_eq!((answer.status, answer.header("connection")), (503, Some("close")), "{answer:?}");
        let kind = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
        assert_eq!(answer.at("/type"), kind);
    }
    drop(clients);
    timeout(Duration::from_secs(5), served).await.expect("an end").expect("an end");
    assert_eq!((app.waiting(), app.connection_stats().open), (0, 0));
}

#[tokio::test]
async fn what_is_being_answered_is_finished_before_the_end() {
    let policy = "rules: [{ name: api, key: [user], limits: [1/500ms] }]";
    let service = Service::start_in_real_time(Kind::Memory, policy).await;
    let address = service.address;
    let mut idle = service.client().await;
    let mut busy = service.client().await;
    assert_eq!(busy.send("POST", "/v1/check", &[], BODY).await.status, 200);
    let waiting = br#"{"attributes":{"user":"alice"},"wait_ms":5000}"#;
    busy.write(&bytes_of("POST", "/v1/check", &[], waiting)).await;
    while service.app.waiting() == 0 {
        tokio::task::yield_now().await;
    }
    let served = service.stop();
    assert!(idle.is_ended().await);
    assert_eq!(busy.receive("POST", "/v1/check").await.status, 200);
    assert!(busy.is_ended().await);
    served.await.expect("an end");
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
