//! How looking on ends: with the service, and for those who are too many before it begins.

use std::time::Duration;

use tokio::time::timeout;

use super::super::{LOGIN, with_admin};
use super::viewer::Viewer;
use crate::http::service::{Kind, Service};

/// The last frame says why.
#[tokio::test]
async fn a_stop_ends_it_at_once() {
    let policy = with_admin(LOGIN).replace("server: {", "server: { shutdown_delay: 1s,");
    let service = Service::start(Kind::Memory, &policy).await;
    let mut viewer = Viewer::open(&service).await;
    viewer.next("hello").await.expect("an event");
    let mut late = Viewer::unopened(&service).await;
    let served = service.stop();
    let end = async {
        let mut last = None;
        while let Some(frame) = viewer.next("frame").await {
            last = Some(frame);
        }
        assert_eq!(last.expect("a frame")["ready"], false);
        let refused = late.ask().await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");
        drop(viewer);
        served.await.expect("an end");
    };
    timeout(Duration::from_secs(10), end).await.expect("no waiting");
}

#[tokio::test]
async fn there_is_room_for_a_hundred() {
    let service = Service::start(Kind::Memory, &with_admin(LOGIN)).await;
    let mut viewers = Vec::new();
    for _ in 0..100 {
        viewers.push(Viewer::open(&service).await);
    }
    let mut late = Viewer::unopened(&service).await;
    let refused = late.ask().await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");
    assert!(refused.detail().contains("100"), "{}", refused.detail());
    drop(viewers.pop());
    let room = async { while late.ask().await.status == 503 {} };
    timeout(Duration::from_secs(10), room).await.expect("room for one");
}

/// However short the times of other connections are.
#[tokio::test]
async fn it_lasts_as_long_as_somebody_looks() {
    let times = "head_timeout: 200ms, body_timeout: 200ms, write_timeout: 200ms, idle_timeout: 200ms";
    let policy = with_admin(LOGIN).replace("server: {", &format!("server: {{ connections: {{ {times} }},"));
    let service = Service::start(Kind::Memory, &policy).await;
    let mut viewer = Viewer::open(&service).await;
    viewer.next("hello").await.expect("an event");
    for _ in 0..4 {
        viewer.next("frame").await.expect("an event");
    }
    assert_eq!(service.app.connection_stats().ended_slow, 0);
}
