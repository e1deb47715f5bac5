//! Handler of HTTP requests, and the state of a connection.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::http::request::Parts;
use slidegate::Clock;

use super::body;
use crate::net::connections::{Order, Phase, Progress};
use crate::net::serve::Caller;
use crate::protocols::overload;
use crate::protocols::problem::{Problem, Reply};
use crate::protocols::request_id::{RequestIds, X_REQUEST_ID};
use crate::runtime::decider::Decider;
use crate::telemetry::auth_failures::AuthFailure;
use crate::telemetry::otlp::Trace;

/// Handler of the requests of a listener.
pub(crate) trait Handler<C>: Send + Sync {
    /// Units of work that a request costs.
    const COST: u32;

    /// Responds to any request.
    fn handle(
        &self,
        connection: &HttpConnection<C>,
        head: &Parts,
        body: Incoming,
        request_id: &HeaderValue,
    ) -> impl Future<Output = Reply> + Send;
}

/// State that the requests of one connection share.
pub(crate) struct HttpConnection<C> {
    pub(crate) decider: Arc<Decider<C>>,
    pub(crate) caller: Caller,
    pub(super) ids: RequestIds,
    /// Maximum number of requests; 0 is unlimited.
    max_requests: u32,
    /// Number of responses, if there is a maximum.
    served: AtomicU32,
    pub(crate) progress: Arc<Progress>,
}

/// Responds to a request, unless the connection is to end before.
pub(super) async fn respond<C: Clock + 'static, H: Handler<C>>(
    connection: &HttpConnection<C>,
    handler: &H,
    head: &Parts,
    body: Incoming,
) -> Reply {
    let request_id = connection.ids.of(&head.headers);
    let mut reply = if connection.caller.is_surplus {
        overload::reply(&connection.decider, head)
    } else {
        let mut handled = pin!(handle(connection, handler, head, body, &request_id));
        poll_fn(|context| match connection.interrupted() {
            None => handled.as_mut().poll(context),
            Some(problem) => Poll::Ready(problem.into_reply()),
        })
        .await
    };
    reply.headers_mut().insert(X_REQUEST_ID, request_id);
    if connection.is_last() {
        reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    connection.progress.rest();
    reply
}

async fn handle<C: Clock, H: Handler<C>>(
    connection: &HttpConnection<C>,
    handler: &H,
    head: &Parts,
    body: Incoming,
    request_id: &HeaderValue,
) -> Reply {
    if connection.progress.is_spent() {
        connection.progress.enter(Phase::Answering);
        connection.progress.share().await;
    }
    connection.progress.spend(H::COST);
    handler.handle(connection, head, body, request_id).await
}

impl<C: Clock> HttpConnection<C> {
    pub(super) fn new(decider: Arc<Decider<C>>, caller: Caller, progress: Arc<Progress>) -> Self {
        let max_requests = decider.settings().connections.max_requests;
        let ids = RequestIds::new(decider.next_seed());
        let served = AtomicU32::new(0);
        Self { decider, caller, ids, max_requests, served, progress }
    }

    /// Counts a request without a valid token, and refuses it.
    #[cold]
    pub(crate) fn unauthorized(&self, failure: AuthFailure) -> Problem {
        self.decider.auth_failures.record(self.caller.listener, self.caller.peer, failure);
        Problem::unauthorized()
    }

    /// Problem that ends a request early: its body is too slow, or the server shuts down.
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
        (is_body || order > Order::Cut).then(|| Problem::interrupted(order))
    }

    /// Whether the connection ends with this response.
    #[inline]
    fn is_last(&self) -> bool {
        let spent = match self.max_requests {
            0 => false,
            most => self.served.fetch_add(1, Ordering::Relaxed) + 1 >= most,
        };
        spent || self.caller.is_surplus || !self.decider.is_ready() || self.progress.order() != Order::Go
    }

    /// Trace of a request.
    #[inline]
    pub(crate) fn trace(&self, operation: &'static str, head: &Parts) -> Trace {
        self.decider.trace((self.caller.listener, operation), Some(&head.headers))
    }

    /// Body of a JSON request, up to the maximum size.
    pub(crate) async fn read(&self, headers: &HeaderMap, body: Incoming) -> Result<Bytes, Problem> {
        self.progress.enter(Phase::Body);
        body::check_content_type(headers)?;
        self.read_any(headers, body).await
    }

    /// Body of any content type, up to the maximum size.
    pub(crate) async fn read_any(&self, headers: &HeaderMap, body: Incoming) -> Result<Bytes, Problem> {
        self.progress.enter(Phase::Body);
        let max_bytes = self.decider.settings().connections.max_body_bytes;
        let bytes = body::read(headers, body, max_bytes, &self.progress).await;
        self.progress.enter(Phase::Answering);
        bytes
    }
}
