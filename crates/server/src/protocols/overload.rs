//! Overload: responses to a surplus connection, which exceeds the limit of its listener.
//!
//! The policy, which decides what connection is surplus, is in `net/connection_admission.rs`.

use hyper::Method;
use hyper::http::request::Parts;
use slidegate::Clock;

use super::health;
use super::problem::{Problem, Reply};
use crate::runtime::decider::Decider;

/// Text over HTTP and gRPC.
pub(crate) const DETAIL: &str = "too many connections, in total or from your address; retry later";
/// Reply over the protocol of Redis, in the words of Redis.
pub(crate) const REDIS_REPLY: &[u8] = b"-ERR max number of clients reached\r\n";

/// Problem over HTTP.
pub(crate) fn problem() -> Problem {
    Problem::overloaded(DETAIL)
}

/// Response to a request over HTTP. Health checks are answered as always: otherwise supervisors and
/// balancers would take a busy server for a dead one.
pub(crate) fn reply<C: Clock>(decider: &Decider<C>, head: &Parts) -> Reply {
    let reads = matches!(head.method, Method::GET | Method::HEAD);
    match head.uri.path() {
        "/livez" if reads => health::live(),
        "/readyz" if reads => health::ready(decider, head.uri.query()).unwrap_or_else(Problem::into_reply),
        _ => problem().into_reply(),
    }
}
