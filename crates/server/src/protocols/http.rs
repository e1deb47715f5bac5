//! HTTP: bytes into requests, answers into bytes, and nothing else.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod content;
pub(crate) mod query;
pub(crate) mod raw_response;
pub(crate) mod tracked_io;

use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};
use slidegate::{Clock, GateError, Store};

use super::health;
use super::problem::{Problem, Reply};
use super::request_id::{Ids, X_REQUEST_ID};
use super::rest::{authorize, check, limit, openapi, rlaas, settle};
use super::rls::json as rls_json;
use super::{auth, request_id};
use crate::config::listener::Door;
use crate::net::connections::{Order, Phase, Progress, cost};
use crate::runtime::app::App;
use crate::runtime::backend::Backend;
use crate::telemetry::auth_failures::AuthFailure;
use crate::telemetry::otlp::Trace;

/// What the requests of one connection have in common.
pub(crate) struct Visit<C> {
    pub(crate) app: Arc<App<C>>,
    pub(crate) door: Door,
    /// Who is at the other end of the connection.
    pub(crate) peer: IpAddr,
    /// SHA-256 of the certificate that the client showed.
    pub(crate) certificate: Option<[u8; 32]>,
    /// Whether the connection is one too many, and only told so.
    is_in_lane: bool,
    ids: Ids,
    /// How many requests it may have; 0: any number.
    max_requests: u32,
    /// How many were answered, where that matters.
    served: AtomicU32,
    progress: Arc<Progress>,
}

/// Answers a request, whatever it is.
pub(crate) async fn answer<C: Clock + 'static>(visit: &Visit<C>, head: &Parts, body: Incoming) -> Reply {
    let request_id = visit.ids.of(&head.headers);
    let mut reply = if visit.is_in_lane {
        turn_away(visit, head)
    } else {
        let mut asked = pin!(dispatch(visit, head, body, &request_id));
        poll_fn(|context| match visit.interrupted() {
            None => asked.as_mut().poll(context),
            Some(problem) => Poll::Ready(problem.into_reply()),
        })
        .await
    };
    reply.headers_mut().insert(X_REQUEST_ID, request_id);
    if visit.is_last() {
        reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    visit.progress.rest();
    reply
}

/// Answers a request of a connection that is one too many. Supervisors and balancers are answered as always: they would take a server
/// that is merely busy for one that is dead.
fn turn_away<C: Clock>(visit: &Visit<C>, head: &Parts) -> Reply {
    let reads = matches!(head.method, Method::GET | Method::HEAD);
    match head.uri.path() {
        "/livez" if reads => health::live(),
        "/readyz" if reads => health::ready(&visit.app, head.uri.query()).unwrap_or_else(Problem::into_reply),
        _ => Problem::too_many().into_reply(),
    }
}

async fn dispatch<C: Clock + 'static>(
    visit: &Visit<C>,
    head: &Parts,
    body: Incoming,
    request_id: &HeaderValue,
) -> Reply {
    if visit.progress.is_spent() {
        visit.progress.enter(Phase::Answering);
        visit.progress.share().await;
    }
    if visit.door == Door::Admin {
        visit.progress.spend(cost::ADMIN_REQUEST);
        // Apart, so that checks need no room for it.
        return Box::pin(crate::admin::answer(visit, head, body, request_id)).await;
    }
    visit.progress.spend(cost::REQUEST);
    let id = request_id::text(request_id);
    route(visit, head, body, id).await.unwrap_or_else(Problem::into_reply)
}

async fn route<C: Clock>(visit: &Visit<C>, head: &Parts, body: Incoming, id: &str) -> Result<Reply, Problem> {
    let app = &*visit.app;
    let reads = matches!(head.method, Method::GET | Method::HEAD);
    let allow = match head.uri.path() {
        "/" if reads => return Ok(openapi::index()),
        "/openapi.json" if reads => return Ok(openapi::document()),
        "/livez" if reads => return Ok(health::live()),
        "/readyz" if reads => return health::ready(app, head.uri.query()),
        "/" | "/openapi.json" | "/livez" | "/readyz" => "GET, HEAD",
        path => {
            auth::check(&head.headers, app.http().token.as_deref())
                .map_err(|failure| visit.unauthorized(failure))?;
            let posts = head.method == Method::POST;
            match path {
                "/v1/check" if posts => {
                    let body = visit.read(&head.headers, body).await?;
                    return check::check(app, &body, id, visit.trace("POST /v1/check", head)).await;
                }
                "/v1/limit" if posts => {
                    let body = visit.read(&head.headers, body).await?;
                    return limit::limit(app, &body, id, visit.trace("POST /v1/limit", head)).await;
                }
                "/v1/refund" if posts => {
                    return settle::refund(app, &visit.read(&head.headers, body).await?).await;
                }
                "/v1/settle" if posts => {
                    return settle::settle(app, &visit.read(&head.headers, body).await?).await;
                }
                "/json" if posts => {
                    // Its callers never had to say that they send JSON.
                    let body = visit.read_any(&head.headers, body).await?;
                    let trace = visit.trace("POST /json", head);
                    // In a box, because most requests are others.
                    return Box::pin(rls_json::should_rate_limit(app, &body, id, trace)).await;
                }
                "/v1/check" | "/v1/limit" | "/v1/refund" | "/v1/settle" | "/json" => "POST",
                "/v1/authorize" => {
                    visit.progress.enter(Phase::Answering);
                    let trace = visit.trace("/v1/authorize", head);
                    return authorize::authorize(app, visit.peer, head, id, trace).await;
                }
                "/check" if reads => {
                    visit.progress.enter(Phase::Answering);
                    return rlaas::check(app, head.uri.query(), id, visit.trace("GET /check", head)).await;
                }
                "/check" => "GET, HEAD",
                _ => return Err(Problem::not_found(path)),
            }
        }
    };
    Err(Problem::method_not_allowed(allow))
}

impl<C: Clock> Visit<C> {
    /// Counts a request without the right token, and refuses it.
    #[cold]
    pub(crate) fn unauthorized(&self, failure: AuthFailure) -> Problem {
        self.app.auth_failures().record(self.door, self.peer, failure);
        Problem::unauthorized()
    }

    /// How far its connection is.
    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Why a request is not answered as it would be, if its time is over: a body that does not come, or the end of the service.
    #[inline]
    fn interrupted(&self) -> Option<Problem> {
        let order = self.progress.order();
        if order == Order::Go {
            return None;
        }
        let is_body = self.progress.phase() == Phase::Body;
        if is_body {
            self.progress.leave_unread();
        }
        (is_body || order > Order::Cut).then(|| Problem::told(order))
    }

    /// Whether the connection ends with this answer.
    #[inline]
    fn is_last(&self) -> bool {
        let spent = match self.max_requests {
            0 => false,
            most => self.served.fetch_add(1, Ordering::Relaxed) + 1 >= most,
        };
        spent || self.is_in_lane || !self.app.is_ready() || self.progress.order() != Order::Go
    }

    /// What this request leaves behind in a trace.
    #[inline]
    fn trace(&self, asked: &'static str, head: &Parts) -> Trace {
        self.app.trace((self.door, asked), Some(&head.headers))
    }

    /// The body of a request that says that it is JSON, as long as it may be.
    pub(crate) async fn read(&self, headers: &HeaderMap, body: Incoming) -> Result<Bytes, Problem> {
        self.progress.enter(Phase::Body);
        body::check_content_type(headers)?;
        self.read_any(headers, body).await
    }

    /// The same whatever it says.
    async fn read_any(&self, headers: &HeaderMap, body: Incoming) -> Result<Bytes, Problem> {
        self.progress.enter(Phase::Body);
        let max_bytes = self.app.http().connections.max_body_bytes;
        let bytes = body::read(headers, body, max_bytes, &self.progress).await;
        self.progress.enter(Phase::Answering);
        bytes
    }
}

impl From<GateError<<Backend as Store>::Error>> for Problem {
    fn from(error: GateError<<Backend as Store>::Error>) -> Self {
        match error {
            GateError::Request(error) => Problem::bad_request(error.to_string()),
            GateError::Conflict => Problem::new(hyper::StatusCode::CONFLICT, error.to_string()),
            GateError::Full => Problem::overloaded(error.to_string()),
            GateError::TooManyPermits => {
                let refused = Problem::new(hyper::StatusCode::TOO_MANY_REQUESTS, error.to_string());
                refused.outcome("too_many_permits")
            }
            GateError::Store(error) => Problem::store(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_room_for_an_idempotency_key_is_a_503_that_says_so() {
        let (status, headers, body) = Problem::from(GateError::Full).into_parts();
        assert_eq!(status, hyper::StatusCode::SERVICE_UNAVAILABLE);
        assert!(headers.contains_key(hyper::header::RETRY_AFTER));
        let body = String::from_utf8(body).expect("JSON");
        assert!(body.contains("no room to remember another idempotency key"), "{body}");
    }
}
