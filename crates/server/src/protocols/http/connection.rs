//! One connection: HTTP/1.1, requests one after the other.

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

/// How often a connection on which nothing was asked is looked at again before it ends. On a machine that is busy something may have come of which
/// the runtime has not heard; it asks the system before a task that yields goes on.
const LAST_LOOKS: u32 = 2;

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
        // Taken apart here: every future that it would be moved through would have room for it.
        let (head, body) = request.into_parts();
        async move { Ok::<_, std::convert::Infallible>(respond(&state, &*handler, &head, body).await) }
    });
    // Time-outs are the sweep's business; without a timer hyper has none of its own.
    let mut builder = http1::Builder::new();
    // Answers are small: to copy one behind its head costs less than to write it in two pieces.
    builder.max_buf_size(max_head_bytes).writev(false);
    let io = TokioIo::new(TrackedIo::new(stream, HttpTracker::new(Arc::clone(&progress))));
    let mut connection = builder.serve_connection(io, service);
    let mut looks = LAST_LOOKS;
    let ended = loop {
        let ended = poll_fn(|context| {
            if progress.order() == Order::End {
                return Poll::Ready(HttpEnd::Immediate);
            }
            // How it ended is the client's business: it went away, or sent what is not HTTP and was told so.
            if Pin::new(&mut connection).poll(context).is_ready() {
                return Poll::Ready(HttpEnd::Completed);
            }
            // Only now, since something may have come at the last moment.
            let is_over = progress.order() != Order::Go && !is_owed_an_answer(progress.phase());
            if is_over { Poll::Ready(HttpEnd::WithResponse) } else { Poll::Pending }
        });
        let ended = ended.await;
        if ended != HttpEnd::WithResponse || is_begun(progress.phase()) || looks == 0 {
            break ended;
        }
        looks -= 1;
        yield_now().await;
    };
    if ended == HttpEnd::WithResponse {
        let parts = connection.into_parts();
        // Also a part of a head that came together with an earlier request was read.
        let asked = is_begun(progress.phase()) || !parts.read_buf.is_empty();
        let word = asked.then(|| raw_response::bytes(&state));
        progress.until(Order::End, close(parts.io.into_inner(), word)).await;
    }
}

/// End of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HttpEnd {
    Completed,
    /// The client is told why, if it asked for anything.
    WithResponse,
    Immediate,
}

/// Whether a part of a request was read that is not known yet.
fn is_begun(phase: Phase) -> bool {
    matches!(phase, Phase::Head | Phase::Record)
}

/// Requests that are known end with their answer, and their connection with them.
fn is_owed_an_answer(phase: Phase) -> bool {
    matches!(phase, Phase::Body | Phase::Answering | Phase::Writing | Phase::Streaming | Phase::Closing)
}

#[cfg(test)]
mod tests;
