//! Connections: several requests on one, ids, time-outs and the end.

use crate::client::{Client, bytes_of};
use crate::service::{Kind, Service};

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
    let mut seen = std::collections::HashSet::new();
    for _ in 0..3 {
        let mut client = service.client().await;
        for _ in 0..3 {
            let answer = client.get("/", &[("x-request-id", "two words")]).await;
            assert!(seen.insert(answer.header("x-request-id").expect("an id").to_owned()));
        }
    }
}

/// Time only moves when nobody has anything else to do, so that nothing is waited for.
#[tokio::test(start_paused = true)]
async fn who_never_finishes_a_request_is_cut_off() {
    let service = Service::start(Kind::Memory, POLICY).await;
    let begun =
        ["", "POST /v1/check HTTP/1.1\r\nhost", "POST /v1/check HTTP/1.1\r\ncontent-length: 9\r\n\r\n{"];
    for bytes in begun {
        let mut client = Client::connect(service.address, None).await;
        client.write(bytes.as_bytes()).await;
        assert!(client.is_ended().await, "{bytes:?}");
    }
}

#[tokio::test]
async fn what_is_being_answered_is_finished_before_the_end() {
    let policy = "rules: [{ name: api, key: [user], limits: [1/500ms] }]";
    let service = Service::start_in_real_time(Kind::Memory, policy).await;
    let address = service.address;
    let mut idle = service.client().await;
    let mut busy = service.client().await;
    assert_eq!(busy.send("POST", "/v1/check", &[], BODY).await.status, 200);
    let held = br#"{"attributes":{"user":"alice"},"wait_ms":5000}"#;
    busy.write(&bytes_of("POST", "/v1/check", &[], held)).await;
    while service.app.held() == 0 {
        tokio::task::yield_now().await;
    }
    let served = service.stop();
    assert!(idle.is_ended().await);
    assert_eq!(busy.receive("POST", "/v1/check").await.status, 200);
    assert!(busy.is_ended().await);
    served.await.expect("an end");
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
