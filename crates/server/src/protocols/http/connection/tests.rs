//! Connections whose clients always have sent more.

use super::*;
use crate::config::listener::Listener;
use crate::net::connections::cost;
use crate::net::connections::tests::flood::{Between, Flood};
use crate::protocols::rest::routes::CheckApi;
use crate::protocols::tests::{caller, decider, in_turns};

/// 200 of `/livez`, with the id.
const ANSWER_BYTES: usize = 138;

/// Pipelined requests leave the worker to others after a share of work.
#[tokio::test]
async fn a_flood_is_answered_in_turns() {
    let decider = decider("version: 1\nrules: [{ name: each, key: [ip], limits: [5/min] }]");
    let serve = |stream: Flood<_>| {
        in_turns(Arc::clone(&decider), Progress::new(), |decider, progress| {
            serve(decider, Arc::new(CheckApi), stream, caller(Listener::Http), progress)
        })
    };
    let request = || || b"GET /livez HTTP/1.1\r\nhost: a\r\nx-request-id: 1\r\n\r\n".to_vec();
    Between::measure(ANSWER_BYTES, request, serve).await.is_bounded(cost::REQUEST);
}
