//! Those who do not take what they are told. Time only moves when nobody has anything else to do,
//! so that an hour takes a moment.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::super::with_admin;
use super::viewer::Viewer;
use crate::http::service::{Kind, Service};

/// So many lines that what the system keeps for a connection is full after some minutes.
async fn with_large_frames(connections: &str) -> Service {
    let rules = (0..100).map(|at| {
        format!("  - {{ name: rule-{at}, match: {{ path: /{at} }}, key: [ip], limits: [9/min] }}\n")
    });
    let policy = with_admin(&rules.collect::<String>());
    let policy = policy.replace("server: {", &format!("server: {{ connections: {{ {connections} }},"));
    let service = Service::start(Kind::Memory, &policy).await;
    let mut client = service.client().await;
    for at in 0..100 {
        assert_eq!(client.check(json!({ "path": format!("/{at}"), "ip": "203.0.113.7" })).await.status, 200);
    }
    service
}

#[tokio::test(start_paused = true)]
async fn who_does_not_read_is_cut_off() {
    let service = with_large_frames("write_timeout: 5s").await;
    let mut deaf = Viewer::open(&service).await;
    deaf.next("hello").await.expect("an event");
    let mut seconds = 0;
    while service.app.connection_stats().ended_slow == 0 {
        sleep(Duration::from_secs(1)).await;
        seconds += 1;
        assert!(seconds < 3_600, "nobody was cut off");
    }
    let mut other = Viewer::open(&service).await;
    other.next("hello").await.expect("an event");
    assert_eq!(other.next("frame").await.expect("an event")["viewers"], 1);
}

/// What comes after a pause is not what came in it.
#[tokio::test(start_paused = true)]
async fn who_reads_late_misses_frames() {
    let service = with_large_frames("write_timeout: 1day").await;
    let mut slow = Viewer::open(&service).await;
    slow.next("hello").await.expect("an event");
    sleep(Duration::from_secs(3_600)).await;
    let (mut frames, mut last_ms, mut longest_ms) = (0, 0, 0);
    while last_ms < 3_600_000 {
        let frame = slow.next("frame").await.expect("an event");
        let uptime_ms = frame["uptime_ms"].as_u64().expect("a time");
        longest_ms = longest_ms.max(uptime_ms - last_ms);
        (frames, last_ms) = (frames + 1, uptime_ms);
    }
    assert!(frames < 3_600 && longest_ms > 60_000, "{frames} frames, {longest_ms} ms");
    assert_eq!(service.app.connection_stats().ended_slow, 0);
}
