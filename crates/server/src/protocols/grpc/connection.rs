//! gRPC connection: HTTP/2, many calls at a time.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use h2::server::{Builder, Connection, SendResponse};
use h2::{Reason, RecvStream};
use hyper::Request;
use slidegate::Clock;
use tokio::io::{AsyncRead, AsyncWrite};

use super::call::{CallStart, WaitFuture, begin};
use super::connection_state::ConnectionState;
use super::frames::{Frames, HeaderBlock, HeaderBlockState};
use super::tracker::GrpcTracker;
use crate::config::connection_limits::ConnectionLimits;
use crate::config::listener::Listener;
use crate::net::connections::{Order, Phase, Progress, cost};
use crate::net::serve::Caller;
use crate::net::tracked_io::TrackedIo;
use crate::runtime::decider::Decider;

/// Maximum number of concurrent calls of one connection; a client queues further ones itself.
const MAX_CALLS: u32 = 256;
/// Default window of HTTP/2.
const LEAST_WINDOW_BYTES: u32 = 65_535;
/// Maximum window of HTTP/2.
const MOST_WINDOW_BYTES: u32 = i32::MAX as u32;
/// Maximum number of calls that a client may have cancelled before they began. Envoy cancels a call
/// after 20 ms: while this process gets no time, a well-behaved client may make and cancel many
/// times its number of concurrent calls.
///
/// `h2` counts calls that were not accepted yet; this also bounds those that were accepted in time,
/// while no call is answered.
const MAX_CANCELLED: usize = 1_024;

/// Answers the calls of a connection until it ends.
pub(crate) async fn serve<C: Clock + 'static>(
    decider: Arc<Decider<C>>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    caller: Caller,
    progress: Arc<Progress>,
) {
    let bounds = decider.settings().connections.clone();
    let heads = HeaderBlockState::default();
    let frames = Frames::new(heads.clone(), bounds.max_head_bytes);
    let io = TrackedIo::new(stream, GrpcTracker::new(Arc::clone(&progress), frames));
    let handshake = settings(&bounds).handshake(io);
    // A connection that does not begin as HTTP/2 is closed: there is no response that its client
    // would understand.
    let Some(Ok(connection)) = progress.until(Order::Cut, handshake).await else { return };
    progress.enter(Phase::Idle);
    let mut grpc = GrpcConnection {
        connection,
        state: Arc::new(ConnectionState::new(decider, bounds, caller)),
        progress,
        heads,
        accepted: Vec::new(),
        waiting: FuturesUnordered::new(),
        watches: FuturesUnordered::new(),
        served: 0,
        cancelled: 0,
        order: Order::Go,
        is_leaving: false,
        is_refused: false,
    };
    poll_fn(|context| grpc.poll(context)).await;
}

/// HTTP/2 settings. Other abuse of HTTP/2 is bounded by `h2` itself.
fn settings(bounds: &ConnectionLimits) -> Builder {
    let longest = u32::try_from(bounds.max_body_bytes).unwrap_or(MOST_WINDOW_BYTES);
    let window_bytes = longest.saturating_add(1 << 10).clamp(LEAST_WINDOW_BYTES, MOST_WINDOW_BYTES);
    // Space for all of them: with less, messages that come in turns could fill it, and none would
    // be complete.
    let all_bytes = window_bytes.saturating_mul(MAX_CALLS).min(MOST_WINDOW_BYTES);
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(MAX_CALLS)
        .max_header_list_size(u32::try_from(bounds.max_head_bytes).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(MAX_CANCELLED)
        .initial_window_size(window_bytes)
        .initial_connection_window_size(all_bytes);
    builder
}

/// gRPC connection and its calls.
struct GrpcConnection<S, C> {
    connection: Connection<TrackedIo<S, GrpcTracker>, Bytes>,
    state: Arc<ConnectionState<C>>,
    progress: Arc<Progress>,
    heads: HeaderBlockState,
    /// Calls that were accepted and have not begun.
    accepted: Vec<(Request<RecvStream>, SendResponse<Bytes>)>,
    waiting: FuturesUnordered<WaitFuture>,
    watches: FuturesUnordered<WaitFuture>,
    served: u32,
    /// Calls that were cancelled before they began, less those that were not.
    cancelled: usize,
    /// Last order that was passed on.
    order: Order,
    /// Whether GOAWAY was sent.
    is_leaving: bool,
    /// Whether the connection ends because of abuse.
    is_refused: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin, C: Clock + 'static> GrpcConnection<S, C> {
    /// Reads, answers and writes; ready when the connection has ended.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let order = self.progress.order();
        if order == Order::End {
            return Poll::Ready(());
        }
        if order != self.order {
            self.order = order;
            self.state.order(order);
            // No call can follow a head that does not end: the calls in progress end, too.
            if order == Order::Cut && self.heads.block() != HeaderBlock::None {
                self.refuse();
            } else {
                self.leave();
            }
        }
        if self.poll_read(context).is_ready() {
            return Poll::Ready(());
        }
        let moved = self.begin_calls(context);
        if let Some(reason) = self.abuse() {
            self.state.decider.network().counts.end_abusive(Listener::Grpc, self.state.caller.peer, reason);
            self.refuse();
            context.waker().wake_by_ref();
        }
        let before = self.waiting.len();
        while let Poll::Ready(Some(())) = self.waiting.poll_next_unpin(context) {}
        while let Poll::Ready(Some(())) = self.watches.poll_next_unpin(context) {}
        self.update_phase(moved || self.waiting.len() != before);
        Poll::Pending
    }

    /// Accepts calls, as far as the connection's share of work lasts, and writes responses. Both
    /// happen before any call is answered: all responses are then written together, since `h2`
    /// wakes the task when there are any.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // Bytes that were read are used, even if reading them has spent the share.
        let most = 1 + self.progress.left_units() / cost::CALL;
        while self.accepted.len() < most as usize {
            match self.connection.poll_accept(context) {
                Poll::Ready(Some(Ok(call))) => {
                    self.progress.spend(cost::CALL);
                    self.accepted.push(call);
                }
                // The reason does not matter: the client left, or got an error.
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Pending
    }

    /// Begins the calls that were accepted; `false` if there are none.
    fn begin_calls(&mut self, context: &mut Context<'_>) -> bool {
        let any = !self.accepted.is_empty();
        for (request, mut respond) in self.accepted.drain(..) {
            self.served = self.served.saturating_add(1);
            if respond.poll_reset(context).is_ready() {
                self.cancelled += 1;
                continue;
            }
            self.cancelled = self.cancelled.saturating_sub(1);
            match begin(&self.state, request, respond, context) {
                CallStart::Done => {}
                CallStart::Waits(waiting) => self.waiting.push(waiting),
                CallStart::Watch(waiting) => self.watches.push(waiting),
            }
        }
        if any && !self.is_leaving && self.is_last() {
            self.leave();
            // `h2` writes GOAWAY only when it is polled again.
            context.waker().wake_by_ref();
        }
        any
    }

    /// Whether the client should make its next call on another connection.
    fn is_last(&self) -> bool {
        let most = self.state.bounds.max_requests;
        let spent = most != 0 && self.served >= most;
        spent || self.state.caller.is_surplus || !self.state.decider.is_ready()
    }

    /// Sends GOAWAY: the client makes no more calls here. Calls on their way are still answered;
    /// watches are not awaited.
    fn leave(&mut self) {
        self.is_leaving = true;
        self.state.order(Order::Cut);
        self.connection.graceful_shutdown();
    }

    /// Abuse by the client, unless it was already refused.
    fn abuse(&self) -> Option<&'static str> {
        match self.heads.block() {
            _ if self.is_refused => None,
            HeaderBlock::TooLarge => Some("a header block without an end"),
            _ if self.cancelled > MAX_CANCELLED => Some("calls that are cancelled as they are made"),
            _ => None,
        }
    }

    /// Ends the connection of an abusive client, with an error.
    fn refuse(&mut self) {
        (self.is_leaving, self.is_refused) = (true, true);
        self.state.order(Order::Stop);
        self.connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
        self.progress.enter(Phase::Closing);
    }

    /// Updates the phase of the connection. A head that has begun has its time limit whatever else
    /// is in progress, unless the client does not read, which has its own. A connection that is to
    /// end has a short time after its last call, whatever its client sends.
    fn update_phase(&self, moved: bool) {
        let (phase, is_busy) = (self.progress.phase(), !self.waiting.is_empty());
        let is_head_begun = self.heads.block() != HeaderBlock::None;
        match phase {
            Phase::Closing => {}
            Phase::Head | Phase::Writing if is_head_begun => {}
            _ if is_head_begun => self.progress.enter(Phase::Head),
            _ if is_busy && phase != Phase::Answering => self.progress.enter(Phase::Answering),
            _ if is_busy => {}
            _ if self.is_leaving => self.progress.enter(Phase::Closing),
            Phase::Answering | Phase::Head => self.progress.enter(Phase::Idle),
            Phase::Idle if moved => self.progress.enter(Phase::Idle),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
