//! Call: answered where it was read if the store is synchronous, and otherwise a future.

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

use super::connection_state::ConnectionState;
use super::message::MessageError;
use super::reply::{GrpcOutcome, refuse, refuse_http, reply};
use super::routes::Route;
use super::status::{Status, StatusCode as Code};
use super::{deadline, health, message, reflection};
use crate::config::listener::Listener;
use crate::net::connections::Order;
use crate::protocols::problem::Problem;
use crate::protocols::rls::{proto, service};
use crate::protocols::{auth, overload, request_id};
use crate::telemetry::otlp::Trace;

/// Name of the span of a call.
const SHOULD_RATE_LIMIT: &str = "envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// Call in progress.
pub(super) type WaitFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Start of a call.
pub(super) enum CallStart {
    Done,
    /// A future that waits for its message, for the store, or for its client.
    Waits(WaitFuture),
    /// A watch, which lasts as long as the connection and does not prolong it.
    Watch(WaitFuture),
}

/// Refusal of a call.
enum CallRefusal {
    /// Status of HTTP, since the request is not gRPC.
    Http(StatusCode),
    Grpc(Status),
}

impl From<Status> for CallRefusal {
    fn from(status: Status) -> Self {
        Self::Grpc(status)
    }
}

/// Starts a call, and completes it if nothing has to wait.
pub(super) fn begin<C: Clock + 'static>(
    connection: &Arc<ConnectionState<C>>,
    request: Request<RecvStream>,
    respond: SendResponse<Bytes>,
    context: &mut Context<'_>,
) -> CallStart {
    // The head is not needed any more.
    let (head, body) = request.into_parts();
    let (route, timeout) = match admit(connection, &head) {
        Ok(admitted) => admitted,
        Err(CallRefusal::Grpc(status)) => {
            refuse(respond, &status);
            return CallStart::Done;
        }
        Err(CallRefusal::Http(status)) => {
            refuse_http(respond, status);
            return CallStart::Done;
        }
    };
    let id = request_id::from_headers(&head.headers);
    let trace = match route {
        Route::ShouldRateLimit => {
            connection.decider.trace((Listener::Grpc, SHOULD_RATE_LIMIT), Some(&head.headers))
        }
        _ => Trace::default(),
    };
    drop(head);
    let connection = Arc::clone(connection);
    let write_timeout = connection.bounds.write;
    let mut work: Pin<Box<dyn Future<Output = GrpcOutcome> + Send>> = match route {
        Route::ShouldRateLimit => Box::pin(should_rate_limit(Arc::clone(&connection), body, id, trace)),
        Route::HealthCheck => Box::pin(health::check(Arc::clone(&connection), body)),
        Route::HealthWatch => return CallStart::Watch(Box::pin(health::watch(connection, body, respond))),
        Route::Reflection => return CallStart::Waits(Box::pin(reflection::serve(connection, body, respond))),
    };
    match work.as_mut().poll(context) {
        Poll::Pending => CallStart::Waits(Box::pin(wait(connection, work, respond, timeout))),
        Poll::Ready(outcome) => match reply(respond, outcome) {
            None => CallStart::Done,
            Some(unsent) => CallStart::Waits(Box::pin(unsent.send(write_timeout))),
        },
    }
}

/// Route and deadline of a call.
fn admit<C: Clock>(
    connection: &ConnectionState<C>,
    head: &Parts,
) -> Result<(Route, Option<Duration>), CallRefusal> {
    if head.method != Method::POST {
        return Err(CallRefusal::Http(StatusCode::METHOD_NOT_ALLOWED));
    }
    if !is_grpc(&head.headers) {
        return Err(CallRefusal::Http(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    let path = head.uri.path();
    let unknown = || Status::unimplemented(format!("unknown method {path:?}; reflection lists all"));
    let route = Route::of(path).ok_or_else(unknown)?;
    if connection.caller.is_surplus && route != Route::HealthCheck {
        return Err(Status::unavailable(overload::DETAIL).into());
    }
    if route.is_guarded() {
        auth::check(&head.headers, connection.decider.settings().token.as_deref()).map_err(|failure| {
            connection.decider.auth_failures.record(Listener::Grpc, connection.caller.peer, failure);
            Status::new(Code::Unauthenticated, Problem::unauthorized().detail().to_owned())
        })?;
    }
    let timeout = deadline::of(&head.headers)?;
    if timeout == Some(Duration::ZERO) {
        return Err(too_late().into());
    }
    Ok((route, timeout))
}

/// Whether the content type is `application/grpc`, alone or with the only encoding of messages.
fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(|value| value.as_bytes());
    let rest = content_type.and_then(|value| value.strip_prefix(b"application/grpc"));
    rest.is_some_and(|rest| matches!(rest, [] | [b';', ..]) || rest == b"+proto")
}

async fn should_rate_limit<C: Clock>(
    connection: Arc<ConnectionState<C>>,
    body: RecvStream,
    id: Option<HeaderValue>,
    trace: Trace,
) -> GrpcOutcome {
    let message = match message::only(body, &connection, Route::ShouldRateLimit).await {
        Ok(message) => message,
        Err(MessageError::TooLarge(why)) => {
            let response = service::refuse_unread(&connection.decider, &why, trace).await;
            return Ok(message::frame(&response));
        }
        Err(MessageError::Wrong(status)) => return Err(status),
    };
    let request: proto::RateLimitRequest = message::parse(&message)?;
    drop(message);
    let id = id.as_ref().map(request_id::text);
    let response = service::should_rate_limit(&connection.decider, &request, id, trace).await?;
    Ok(message::frame(&response))
}

/// Waits for the outcome of a call, until its client cancels it, its deadline passes, or the
/// connection ends.
async fn wait<C: Clock>(
    connection: Arc<ConnectionState<C>>,
    work: Pin<Box<dyn Future<Output = GrpcOutcome> + Send>>,
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
        () = connection.ordered(Order::Stop) => Err(Status::shutting_down()),
    };
    if let Some(unsent) = reply(respond, outcome) {
        unsent.send(connection.bounds.write).await;
    }
}

fn too_late() -> Status {
    Status::deadline_exceeded("the deadline of the call has passed")
}
