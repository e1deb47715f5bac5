//! Connections whose clients always have sent more.

use slidegate::policy::Policy;
use slidegate::{ManualClock, Memory};

use super::*;
use crate::config::Config;
use crate::config::listener::Listener;
use crate::net::connections::cost;
use crate::net::connections::flood::{Between, Flood};
use crate::protocols::rest::routes::CheckApi;
use crate::runtime::Runtime;
use crate::runtime::backend::Backend;

/// 200 of `/livez`, with the id.
const ANSWER_BYTES: usize = 138;

fn decider() -> Arc<Decider<ManualClock>> {
    let policy = "version: 1\nrules: [{ name: each, key: [ip], limits: [5/min] }]";
    let config = Policy::parse("test.yaml", policy).unwrap_or_else(|errors| panic!("{errors}"));
    let runtime = Runtime::over(Config::from(config), Backend::Memory(Memory::default())).expect("settings");
    Arc::clone(runtime.clock(ManualClock::new(1_745_000_103_000)).decider())
}

/// Pipelined requests leave the worker to others after a share of work.
#[tokio::test]
async fn a_flood_is_answered_in_turns() {
    let decider = decider();
    let caller = Caller {
        listener: Listener::Http,
        peer: [127, 0, 0, 1].into(),
        certificate: None,
        is_in_lane: false,
    };
    let serve = |stream: Flood<_>| {
        let (decider, progress) = (Arc::clone(&decider), Progress::new());
        async move {
            let served =
                serve(Arc::clone(&decider), Arc::new(CheckApi), stream, caller, Arc::clone(&progress));
            decider.network().turns.share(&progress, served).await;
        }
    };
    let request = || || b"GET /livez HTTP/1.1\r\nhost: a\r\nx-request-id: 1\r\n\r\n".to_vec();
    Between::measure(ANSWER_BYTES, request, serve).await.is_bounded(cost::REQUEST);
}
