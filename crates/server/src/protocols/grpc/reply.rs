//! Responses of gRPC, no faster than the client reads them.

use std::future::poll_fn;
use std::task::{Poll, ready};
use std::time::Duration;

use super::status::Status;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use tokio::time::timeout;

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");

/// Outcome of a call: a framed message, or a status.
pub(super) type GrpcOutcome = Result<Bytes, Status>;

/// The client has left, or does not read.
#[derive(Debug)]
pub(super) struct StreamClosed;

/// Responds to a call. Returns the response if the client has no window for it yet.
pub(super) fn reply(respond: SendResponse<Bytes>, outcome: GrpcOutcome) -> Option<UnsentReply> {
    let message = match outcome {
        Ok(message) => message,
        Err(status) => {
            refuse(respond, &status);
            return None;
        }
    };
    let mut outbox = Outbox::open(respond).ok()?;
    outbox.stream.reserve_capacity(message.len());
    if outbox.stream.capacity() < message.len() {
        return Some(UnsentReply { outbox, message });
    }
    if outbox.stream.send_data(message, false).is_ok() {
        outbox.end(None);
    }
    None
}

/// Responds with a status. A failure means that the client is gone.
pub(super) fn refuse(mut respond: SendResponse<Bytes>, status: &Status) {
    let mut response = head();
    status.put(response.headers_mut());
    let _gone = respond.send_response(response, true);
}

/// Responds to a request that is not gRPC.
pub(super) fn refuse_http(mut respond: SendResponse<Bytes>, status: StatusCode) {
    let mut response = Response::new(());
    *response.status_mut() = status;
    let _gone = respond.send_response(response, true);
}

fn head() -> Response<()> {
    let mut response = Response::new(());
    response.headers_mut().insert(CONTENT_TYPE, GRPC);
    response
}

/// Response that waits for its client.
pub(super) struct UnsentReply {
    outbox: Outbox,
    message: Bytes,
}

impl UnsentReply {
    /// Sends the response as the client opens its window, for a limited time.
    pub(super) async fn send(mut self, time: Duration) {
        if self.outbox.send(self.message, time).await.is_ok() {
            self.outbox.end(None);
        }
    }
}

/// Response of any number of messages.
pub(super) struct Outbox {
    stream: SendStream<Bytes>,
}

impl Outbox {
    pub(super) fn open(mut respond: SendResponse<Bytes>) -> Result<Self, StreamClosed> {
        let stream = respond.send_response(head(), false).map_err(|_| StreamClosed)?;
        Ok(Self { stream })
    }

    /// Sends a message, in parts if the window is smaller.
    pub(super) async fn send(&mut self, mut message: Bytes, time: Duration) -> Result<(), StreamClosed> {
        let sent = timeout(time, async {
            while !message.is_empty() {
                let window_bytes = self.window(message.len()).await?;
                let part = message.split_to(window_bytes.min(message.len()));
                self.stream.send_data(part, false).map_err(|_| StreamClosed)?;
            }
            Ok(())
        });
        sent.await.unwrap_or_else(|_| {
            self.stream.send_reset(Reason::CANCEL);
            Err(StreamClosed)
        })
    }

    /// Window of the client in bytes, as soon as it is not empty.
    async fn window(&mut self, wanted_bytes: usize) -> Result<usize, StreamClosed> {
        self.stream.reserve_capacity(wanted_bytes);
        poll_fn(|context| {
            loop {
                match self.stream.capacity() {
                    0 => {}
                    window_bytes => return Poll::Ready(Ok(window_bytes)),
                }
                if !matches!(ready!(self.stream.poll_capacity(context)), Some(Ok(_))) {
                    return Poll::Ready(Err(StreamClosed));
                }
            }
        })
        .await
    }

    /// Completes when the client cancels the call.
    pub(super) async fn cancelled_by_client(&mut self) {
        let _reason = poll_fn(|context| self.stream.poll_reset(context)).await;
    }

    /// Ends the response with a status.
    pub(super) fn end(mut self, status: Option<&Status>) {
        let mut trailers = HeaderMap::with_capacity(2);
        match status {
            None => Status::put_ok(&mut trailers),
            Some(status) => status.put(&mut trailers),
        }
        // A failure means that the client is gone.
        let _gone = self.stream.send_trailers(trailers);
    }
}
