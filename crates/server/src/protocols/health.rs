//! `/livez` and `/readyz`, on every listener and without a token: balancers and supervisors have
//! none.

use hyper::StatusCode;
use serde_json::json;
use slidegate::Clock;
use slidegate::store::redis::CircuitState;

use super::problem::{JSON, PROBLEM_JSON, Problem, Reply, reply};
use super::query;
use crate::runtime::backend::Backend;
use crate::runtime::decider::Decider;

/// State of the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StoreState {
    Available,
    /// Some of its servers do not answer, or refuse writes.
    Degraded,
    Unavailable,
}

impl StoreState {
    pub(crate) fn of(backend: &Backend) -> Self {
        let Backend::Redis(redis) = backend else { return Self::Available };
        let health = redis.store().health();
        let refusals = redis.store().refusals();
        let refuses = |server: &String| refusals.iter().any(|(refusing, _)| refusing == server);
        let is_failing =
            |(server, health): &&(String, CircuitState)| *health != CircuitState::Closed || refuses(server);
        let failing = health.iter().filter(is_failing).count();
        match failing {
            0 => Self::Available,
            all if all == health.len() => Self::Unavailable,
            _ => Self::Degraded,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Degraded => "degraded",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Response to `/livez`: the process answers, and it depends on nothing else.
pub(crate) fn live() -> Reply {
    reply(StatusCode::OK, JSON, &b"{\"live\":true}"[..])
}

/// Response to `/readyz`: whether requests should come here. While the store is unavailable every
/// rule has a fallback, so that counts only with `?store=required`.
pub(crate) fn ready<C: Clock>(decider: &Decider<C>, query: Option<&str>) -> Result<Reply, Problem> {
    let store = StoreState::of(decider.gate().store());
    let needs_store = needs_store(query)?;
    let why = if !decider.is_ready() {
        "the server is shutting down"
    } else if needs_store && store == StoreState::Unavailable {
        outage(decider.gate().store())
    } else {
        let body = json!({ "ready": true, "store": store.name() });
        return Ok(reply(StatusCode::OK, JSON, body.to_string()));
    };
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let body = json!({
        "type": "about:blank",
        "title": "Service Unavailable",
        "status": status.as_u16(),
        "detail": why,
        "ready": false,
        "store": store.name(),
    });
    Ok(reply(status, PROBLEM_JSON, body.to_string()))
}

/// Reason why the store is unavailable.
fn outage(backend: &Backend) -> &'static str {
    match backend {
        Backend::Redis(redis) if !redis.store().refusals().is_empty() => "the store refuses writes",
        _ => "the store is unavailable",
    }
}

/// Value of `store`. An unknown parameter is an error: its sender would think that the store was
/// checked.
fn needs_store(query: Option<&str>) -> Result<bool, Problem> {
    let mut needed = false;
    for (name, value) in query::parse(query)? {
        match (&*name, &*value) {
            ("store", "required") => needed = true,
            ("store", other) => {
                return Err(Problem::bad_request(format!("store is `required` or left out, not {other:?}")));
            }
            (other, _) => return Err(query::unknown(other, "store")),
        }
    }
    Ok(needed)
}
