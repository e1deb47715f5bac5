//! Answers: as gRPC has them, and no faster than the client takes them.

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
pub(super) type CallOutcome = Result<Bytes, Status>;

/// The client is not there any more, or takes nothing.
#[derive(Debug)]
pub(super) struct Gone;

/// Responds to a call. Returns what the client has no room for yet.
pub(super) fn reply(respond: SendResponse<Bytes>, outcome: CallOutcome) -> Option<Unsent> {
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
        return Some(Unsent { outbox, message });
    }
    if outbox.stream.send_data(message, false).is_ok() {
        outbox.end(None);
    }
    None
}

/// Says that there is no answer, and why. Where this fails, nobody is there to hear it.
pub(super) fn refuse(mut respond: SendResponse<Bytes>, status: &Status) {
    let mut response = head();
    status.put(response.headers_mut());
    let _gone = respond.send_response(response, true);
}

/// The answer to what is not gRPC at all.
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

/// An answer that waits for its client.
pub(super) struct Unsent {
    outbox: Outbox,
    message: Bytes,
}

impl Unsent {
    /// Sends it as the client makes room, for a limited time.
    pub(super) async fn send(mut self, patience: Duration) {
        if self.outbox.send(self.message, patience).await.is_ok() {
            self.outbox.end(None);
        }
    }
}

/// A call that is being answered with any number of messages.
pub(super) struct Outbox {
    stream: SendStream<Bytes>,
}

impl Outbox {
    pub(super) fn open(mut respond: SendResponse<Bytes>) -> Result<Self, Gone> {
        let stream = respond.send_response(head(), false).map_err(|_| Gone)?;
        Ok(Self { stream })
    }

    /// Sends a message, in parts if the client makes room for parts only.
    pub(super) async fn send(&mut self, mut message: Bytes, patience: Duration) -> Result<(), Gone> {
        let said = timeout(patience, async {
            while !message.is_empty() {
                let room_bytes = self.budget(message.len()).await?;
                let part = message.split_to(room_bytes.min(message.len()));
                self.stream.send_data(part, false).map_err(|_| Gone)?;
            }
            Ok(())
        });
        let said = said.await;
        said.unwrap_or_else(|_| {
            self.stream.send_reset(Reason::CANCEL);
            Err(Gone)
        })
    }

    /// Number of bytes that the client has room for, as soon as it has any.
    async fn budget(&mut self, wanted_bytes: usize) -> Result<usize, Gone> {
        self.stream.reserve_capacity(wanted_bytes);
        poll_fn(|context| {
            loop {
                match self.stream.capacity() {
                    0 => {}
                    room_bytes => return Poll::Ready(Ok(room_bytes)),
                }
                if !matches!(ready!(self.stream.poll_capacity(context)), Some(Ok(_))) {
                    return Poll::Ready(Err(Gone));
                }
            }
        })
        .await
    }

    /// Completes when the client does not want the answer any more.
    pub(super) async fn cancelled_by_client(&mut self) {
        let _reason = poll_fn(|context| self.stream.poll_reset(context)).await;
    }

    /// That was all, and whether it went well.
    pub(super) fn end(mut self, status: Option<&Status>) {
        let mut trailers = HeaderMap::with_capacity(2);
        match status {
            None => Status::put_ok(&mut trailers),
            Some(status) => status.put(&mut trailers),
        }
        // Where this fails, nobody is there to hear it.
        let _gone = self.stream.send_trailers(trailers);
    }
}
