//! One call: answered where it was read if that can be, and otherwise something that waits.

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, StatusCode};
use slidegate::Clock;
use tokio::time::sleep;
use tonic::Status;

use super::connection_state::Visit;
use super::message::Unread;
use super::reply::{Outcome, refuse, refuse_http, reply};
use super::routes::Route;
use super::{deadline, health, message, reflection};
use crate::config::listener::Door;
use crate::net::connections::Order;
use crate::protocols::problem::Problem;
use crate::protocols::rls::{proto, service};
use crate::protocols::{auth, request_id};
use crate::telemetry::otlp::Trace;

/// What its span is called.
const SHOULD_RATE_LIMIT: &str = "envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// A call that is not over.
pub(super) type Waiting = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How far a call came at once.
pub(super) enum Begun {
    Answered,
    /// It waits for its message, for the store, or for its client.
    Waits(Waiting),
    /// It looks on for as long as the connection is there, and does not keep it.
    LooksOn(Waiting),
}

/// Why a call is not served.
enum Refusal {
    /// In the words of HTTP, since it is not gRPC.
    Http(StatusCode),
    Grpc(Status),
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Self::Grpc(status)
    }
}

/// Goes as far with a call as it comes without waiting.
pub(super) fn begin<C: Clock + 'static>(
    visit: &Arc<Visit<C>>,
    request: Request<RecvStream>,
    respond: SendResponse<Bytes>,
    context: &mut Context<'_>,
) -> Begun {
    // What is in the head is not kept.
    let (head, body) = request.into_parts();
    let (route, timeout) = match admit(visit, &head) {
        Ok(admitted) => admitted,
        Err(Refusal::Grpc(status)) => {
            refuse(respond, &status);
            return Begun::Answered;
        }
        Err(Refusal::Http(status)) => {
            refuse_http(respond, status);
            return Begun::Answered;
        }
    };
    let id = request_id::brought(&head.headers);
    let trace = match route {
        Route::ShouldRateLimit => visit.app.trace((Door::Grpc, SHOULD_RATE_LIMIT), Some(&head.headers)),
        _ => Trace::default(),
    };
    drop(head);
    let visit = Arc::clone(visit);
    let write_timeout = visit.bounds.write;
    let mut work: Pin<Box<dyn Future<Output = Outcome> + Send>> = match route {
        Route::ShouldRateLimit => Box::pin(should_rate_limit(Arc::clone(&visit), body, id, trace)),
        Route::HealthCheck => Box::pin(health::check(Arc::clone(&visit), body)),
        Route::HealthWatch => return Begun::LooksOn(Box::pin(health::watch(visit, body, respond))),
        Route::Reflection => return Begun::Waits(Box::pin(reflection::converse(visit, body, respond))),
    };
    match work.as_mut().poll(context) {
        Poll::Pending => Begun::Waits(Box::pin(wait(visit, work, respond, timeout))),
        Poll::Ready(outcome) => match reply(respond, outcome) {
            None => Begun::Answered,
            Some(unsent) => Begun::Waits(Box::pin(unsent.send(write_timeout))),
        },
    }
}

/// What is asked for, and how long its client waits.
fn admit<C: Clock>(visit: &Visit<C>, head: &Parts) -> Result<(Route, Option<Duration>), Refusal> {
    if head.method != Method::POST {
        return Err(Refusal::Http(StatusCode::METHOD_NOT_ALLOWED));
    }
    if !is_grpc(&head.headers) {
        return Err(Refusal::Http(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    let path = head.uri.path();
    let unknown =
        || Status::unimplemented(format!("there is no {path:?} here; reflection lists what there is"));
    let route = Route::of(path).ok_or_else(unknown)?;
    if visit.is_in_lane && route != Route::HealthCheck {
        return Err(Status::unavailable(Problem::too_many().detail()).into());
    }
    if route.is_guarded() {
        auth::check(&head.headers, visit.app.http().token.as_deref()).map_err(|failure| {
            visit.app.auth_failures().record(Door::Grpc, visit.peer, failure);
            Status::unauthenticated(Problem::unauthorized().detail())
        })?;
    }
    let timeout = deadline::of(&head.headers)?;
    if timeout == Some(Duration::ZERO) {
        return Err(too_late().into());
    }
    Ok((route, timeout))
}

/// `application/grpc`, alone or with what says how messages are encoded: only one way is known to anybody.
fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(|value| value.as_bytes());
    let rest = content_type.and_then(|value| value.strip_prefix(b"application/grpc"));
    rest.is_some_and(|rest| matches!(rest, [] | [b';', ..]) || rest == b"+proto")
}

async fn should_rate_limit<C: Clock>(
    visit: Arc<Visit<C>>,
    body: RecvStream,
    id: Option<HeaderValue>,
    trace: Trace,
) -> Outcome {
    let message = match message::only(body, &visit, Route::ShouldRateLimit).await {
        Ok(message) => message,
        Err(Unread::TooLarge(why)) => {
            let response = service::refuse_unread(&visit.app, &why, trace).await;
            return Ok(message::frame(&response));
        }
        Err(Unread::Wrong(status)) => return Err(status),
    };
    let request: proto::RateLimitRequest = message::parse(&message)?;
    drop(message);
    let id = id.as_ref().map(request_id::text);
    let response = service::should_rate_limit(&visit.app, &request, id, trace).await?;
    Ok(message::frame(&response))
}

/// Waits for what comes of a call, for as long as anybody does.
async fn wait<C: Clock>(
    visit: Arc<Visit<C>>,
    work: Pin<Box<dyn Future<Output = Outcome> + Send>>,
    mut respond: SendResponse<Bytes>,
    timeout: Option<Duration>,
) {
    let late = async {
        match timeout {
            Some(timeout) => sleep(timeout).await,
            None => pending().await,
        }
    };
    let outcome = tokio::select! {
        biased;
        _reason = poll_fn(|context| respond.poll_reset(context)) => return,
        outcome = work => outcome,
        () = late => Err(too_late()),
        () = visit.is_told(Order::Stop) => Err(ends()),
    };
    if let Some(unsent) = reply(respond, outcome) {
        unsent.send(visit.bounds.write).await;
    }
}

fn too_late() -> Status {
    Status::deadline_exceeded("the time that the call had is over")
}

/// The service ends.
pub(super) fn ends() -> Status {
    Status::unavailable("the service ends; ask again elsewhere")
}
