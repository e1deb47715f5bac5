//! What those who look on are told. Every event is held against the document.

mod ends;
mod slow;
mod top;
mod viewer;

use serde_json::{Value, json};
use tokio::time::{Duration, sleep};

use super::{LOGIN, Operator, with_admin};
use crate::http::service::{BOTH, Kind, Service};
use viewer::Viewer;

fn from(ip: &str) -> Value {
    json!({ "path": "/login", "ip": ip })
}

#[tokio::test]
async fn a_new_viewer_gets_decisions_at_once() {
    for kind in BOTH {
        let rules = format!("{LOGIN}  - {{ name: all, key: [ip], limits: [3/min], mode: observe }}\n");
        let service = Service::start(kind, &with_admin(&rules)).await;
        let mut client = service.client().await;
        assert_eq!(client.statuses(5, from("203.0.113.7")).await, [200, 200, 429, 429, 429]);
        assert_eq!(client.statuses(1, from("203.0.113.8")).await, [200]);
        assert_eq!(client.statuses(1, json!({ "path": "/elsewhere" })).await, [200]);
        let mut viewer = Viewer::open(&service).await;
        viewer.next("hello").await.expect("an event");
        let frame = viewer.next("frame").await.expect("an event");
        assert_eq!((&frame["subjects"], &frame["near_miss_percent"]), (&json!("plain"), &json!(5.0)));
        let totals = &frame["totals"];
        assert_eq!((&totals["allowed"], &totals["denied"]), (&json!(4), &json!(3)), "{kind:?} {frame}");
        // The second of two leaves nothing.
        assert_eq!(totals["near_misses"], 1, "{frame}");
        let login = &frame["lines"][0];
        assert_eq!(
            (&login["rule"], &login["limit"], &login["route"]),
            (&json!("login"), &json!("login-2/min"), &json!("/login"))
        );
        assert_eq!((&login["enforced"]["allowed"], &login["enforced"]["denied"]), (&json!(3), &json!(3)));
        let abuser = json!({ "rule": "login", "subject": { "ip": "203.0.113.7" }, "count": 3, "error": 0 });
        assert_eq!(frame["denied"]["entries"], json!([abuser]), "{frame}");
        assert_eq!(frame["near"]["entries"][0]["subject"], json!({ "ip": "203.0.113.7" }), "{frame}");
        assert_eq!((&frame["viewers"], &frame["ready"]), (&json!(1), &json!(true)));
        let kinds = if kind == Kind::Memory { "memory" } else { "redis" };
        assert_eq!(frame["store"]["kind"], kinds);

        assert_eq!(client.statuses(1, from("203.0.113.7")).await, [429]);
        let denied = async |viewer: &mut Viewer| loop {
            let frame = viewer.next("frame").await.expect("an event");
            if frame["totals"]["denied"] == 4 {
                return frame;
            }
        };
        denied(&mut viewer).await;
    }
}

/// Time only moves when nobody has anything else to do.
#[tokio::test(start_paused = true)]
async fn every_viewer_gets_the_same_frame_every_second() {
    let service = Service::start(Kind::Memory, &with_admin(LOGIN)).await;
    let mut viewers = [Viewer::open(&service).await, Viewer::open(&service).await];
    for viewer in &mut viewers {
        viewer.next("hello").await.expect("an event");
        viewer.next("frame").await.expect("an event");
    }
    let [one, other] = &mut viewers;
    let mut frames = Vec::new();
    for _ in 0..5 {
        frames.push(one.next("frame").await.expect("an event"));
    }
    let uptimes: Vec<u64> = frames.iter().map(|frame| frame["uptime_ms"].as_u64().expect("a time")).collect();
    assert!(uptimes.windows(2).all(|two| two[1] == two[0] + 1_000), "{uptimes:?}");
    assert!(frames.iter().all(|frame| frame["viewers"] == 2), "{frames:?}");
    let mut first = other.next("frame").await.expect("an event");
    while first["uptime_ms"] != frames[0]["uptime_ms"] {
        first = other.next("frame").await.expect("an event");
    }
    for frame in &frames[1..] {
        assert_eq!(other.next("frame").await.as_ref(), Some(frame));
    }
}

/// A chart does not begin empty, nor does it grow for ever.
#[tokio::test(start_paused = true)]
async fn the_last_two_minutes_are_sent() {
    let service = Service::start(Kind::Memory, &with_admin(LOGIN)).await;
    let mut client = service.client().await;
    assert_eq!(client.check(from("203.0.113.7")).await.status, 200);
    sleep(Duration::from_secs(130)).await;
    let hello = Viewer::open(&service).await.next("hello").await.expect("an event");
    let history = hello["history"].as_array().expect("a list");
    assert_eq!(history.len(), 120);
    assert!(history.iter().all(|moment| moment["totals"]["allowed"] == 1), "{history:?}");
}

#[tokio::test]
async fn without_counts_the_frame_has_the_rest() {
    let policy = format!("observe: {{ enabled: false }}\n{}", with_admin(LOGIN));
    let service = Service::start(Kind::Memory, &policy).await;
    let mut viewer = Viewer::open(&service).await;
    viewer.next("hello").await.expect("an event");
    let frame = viewer.next("frame").await.expect("an event");
    for counted in ["subjects", "near_miss_percent", "totals", "latency_us", "denied", "near"] {
        assert_eq!(frame[counted], Value::Null, "{counted}");
    }
    assert_eq!((&frame["policy"]["rules"], &frame["ready"]), (&json!(1), &json!(true)));
    let refused = Operator::new(&service).await.get("/v1/top").await;
    assert_eq!(refused.status, 409);
    assert!(refused.detail().contains("observe.enabled"), "{}", refused.detail());
}

#[tokio::test]
async fn a_head_request_opens_no_stream() {
    let service = Service::start(Kind::Memory, &with_admin(LOGIN)).await;
    let mut operator = Operator::new(&service).await;
    for _ in 0..3 {
        let head = operator.send("HEAD", "/v1/events", &[], b"").await;
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    }
    let mut viewer = Viewer::open(&service).await;
    viewer.next("hello").await.expect("an event");
    assert_eq!(viewer.next("frame").await.expect("an event")["viewers"], 1);
}
