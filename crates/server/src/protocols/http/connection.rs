//! HTTP/1.1 connection: requests one after the other.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use slidegate::Clock;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::yield_now;

use super::handler::{Handler, HttpConnection, respond};
use super::raw_response;
use super::tracker::{HttpTracker, close};
use crate::net::connections::{Order, Phase, Progress};
use crate::net::serve::Caller;
use crate::net::tracked_io::TrackedIo;
use crate::runtime::decider::Decider;

/// Number of polls of a connection without a request before it ends. On a busy machine the runtime
/// may not have been notified of its bytes yet; it polls the sockets before it continues a task
/// that yields.
const LAST_POLLS: u32 = 2;

/// Serves the requests of a connection until it ends.
pub(crate) async fn serve<C: Clock + 'static>(
    decider: Arc<Decider<C>>,
    handler: Arc<impl Handler<C>>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    caller: Caller,
    progress: Arc<Progress>,
) {
    let max_head_bytes = decider.settings().connections.max_head_bytes;
    let state = Arc::new(HttpConnection::new(decider, caller, Arc::clone(&progress)));
    let state_of_service = Arc::clone(&state);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (state, handler) = (Arc::clone(&state_of_service), Arc::clone(&handler));
        // Split here: every future that it would be moved through would have space for it.
        let (head, body) = request.into_parts();
        async move { Ok::<_, std::convert::Infallible>(respond(&state, &*handler, &head, body).await) }
    });
    // The sweep enforces time limits; without a timer hyper has none of its own.
    let mut builder = http1::Builder::new();
    // Responses are small: to copy one behind its head costs less than to write it in two pieces.
    builder.max_buf_size(max_head_bytes).writev(false);
    let io = TokioIo::new(TrackedIo::new(stream, HttpTracker::new(Arc::clone(&progress))));
    let mut connection = builder.serve_connection(io, service);
    let mut polls = LAST_POLLS;
    let ended = loop {
        let ended = poll_fn(|context| {
            if progress.order() == Order::End {
                return Poll::Ready(HttpEnd::Immediate);
            }
            // The reason does not matter: the client left, or sent something else than HTTP and got
            // 400.
            if Pin::new(&mut connection).poll(context).is_ready() {
                return Poll::Ready(HttpEnd::Completed);
            }
            // Only now, since bytes may have come at the last moment.
            let is_over = progress.order() != Order::Go && !is_owed_a_response(progress.phase());
            if is_over { Poll::Ready(HttpEnd::WithResponse) } else { Poll::Pending }
        });
        let ended = ended.await;
        if ended != HttpEnd::WithResponse || is_begun(progress.phase()) || polls == 0 {
            break ended;
        }
        polls -= 1;
        yield_now().await;
    };
    if ended == HttpEnd::WithResponse {
        let parts = connection.into_parts();
        // This includes a part of a head that came together with an earlier request.
        let is_request_begun = is_begun(progress.phase()) || !parts.read_buf.is_empty();
        let response = is_request_begun.then(|| raw_response::bytes(&state));
        progress.until(Order::End, close(parts.io.into_inner(), response)).await;
    }
}

/// End of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HttpEnd {
    Completed,
    /// The client gets a response if it has begun a request.
    WithResponse,
    Immediate,
}

/// Whether only a part of a request was read.
fn is_begun(phase: Phase) -> bool {
    matches!(phase, Phase::Head | Phase::Record)
}

/// Whether a request was read that has no response yet. Its connection ends with the response.
fn is_owed_a_response(phase: Phase) -> bool {
    matches!(phase, Phase::Body | Phase::Answering | Phase::Writing | Phase::Streaming | Phase::Closing)
}

#[cfg(test)]
mod tests;
