//! A collector that does not do what it should: decisions go on, and what is lost is counted.

use bytes::Bytes;
use tokio::net::TcpListener;

use crate::otlp::collector::{Answer, Collector, setting};
use crate::otlp::http::{check, send};
use crate::otlp::service::Service;
use crate::otlp::spans::spans;
use crate::resp::client as resp;

const RULES: &str = "rules: [{ name: api, key: [user], limits: [1000000/min] }]";

/// How many spans were sent and dropped, as the service counts them.
async fn counts(service: &Service) -> [u64; 2] {
    let (status, text) = send(service.admin, "GET /metrics", &[], "").await;
    assert_eq!(status, 200);
    ["sent", "dropped"].map(|outcome| {
        let name = format!("slidegate_otlp_spans_total{{outcome=\"{outcome}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&name));
        line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_away_costs_nothing_but_spans() {
    let address = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
    let service = Service::start(&setting(address, "100%"), RULES).await;
    for _ in 0..10 {
        assert_eq!(check(service.http, "/a", &[]).await, 200);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_silent_holds_up_nobody() {
    let mut collector = Collector::answering([], Answer::Silence).await;
    let service = Service::start(&collector.setting("100%"), RULES).await;
    let mut redis = resp::Client::connect(service.resp).await;
    assert_eq!(check(service.http, "/a", &[]).await, 200);
    // From here on it waits for an answer that does not come.
    assert_eq!(collector.next().await.path, "/v1/traces");
    let command: Vec<u8> = resp::bytes_of(&["SG.CHECK", "1", "user", "bob"]);
    for _ in 0..30 {
        redis.write(&command.repeat(100)).await;
        for _ in 0..100 {
            assert!(matches!(redis.reply().await, resp::Reply::Array(_)));
        }
    }
    // The queue has room for 2,048 of these 3,000.
    assert_eq!(counts(&service).await, [0, 3_000 - 2_048]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_collector_gets_a_retry() {
    let busy = Answer::Status(503, &[("retry-after", "0")]);
    let mut collector = Collector::answering([busy], Answer::Accepted(Bytes::new())).await;
    let service = Service::start(&collector.setting("100%"), RULES).await;
    assert_eq!(check(service.http, "/a", &[]).await, 200);
    let (first, second) = (collector.next().await, collector.next().await);
    assert_eq!((first.path, &first.body), ("/v1/traces".to_owned(), &second.body));
    assert_eq!(first.headers["content-type"], "application/x-protobuf");
    service.stop().await;
    assert_eq!(spans(&[second]).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_rejects_gets_no_retry() {
    // It rejects two of the next ones as well, and says so in the words of OTLP.
    let partly = Answer::Accepted(Bytes::from_static(b"\x0a\x07\x08\x02\x12\x03odd"));
    let mut collector =
        Collector::answering([Answer::Status(400, &[]), partly], Answer::Accepted(Bytes::new())).await;
    let service = Service::start(&collector.setting("100%"), RULES).await;
    assert_eq!(check(service.http, "/a", &[]).await, 200);
    let refused = collector.next().await;
    let mut redis = resp::Client::connect(service.resp).await;
    let command = resp::bytes_of(&["SG.CHECK", "1", "user", "bob"]);
    redis.write(&command.repeat(3)).await;
    for _ in 0..3 {
        redis.reply().await;
    }
    let partly = collector.next().await;
    assert_eq!((spans(&[refused]).len(), spans(&[partly]).len()), (1, 3));
    // It is counted as soon as its answer was read.
    while counts(&service).await != [1, 3] {
        tokio::task::yield_now().await;
    }
    service.stop().await;
}
