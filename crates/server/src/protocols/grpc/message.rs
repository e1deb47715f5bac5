//! Messages in the framing of gRPC: a byte for compression, four for the length, and the message.

use std::future::{pending, poll_fn};
use std::task::Poll;

use super::status::{Status, StatusCode};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use h2::RecvStream;
use prost::Message;
use slidegate::Clock;
use tokio::time::timeout;

use super::connection_state::{ConnectionState, MessageBudget};
use super::routes::Route;
use crate::net::byte_budget::ByteReservation;

/// Bytes before a message.
const PREFIX_BYTES: usize = 5;

/// Message with its prefix.
pub(super) fn frame(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut framed = BytesMut::with_capacity(PREFIX_BYTES + length);
    framed.put_u8(0);
    framed.put_u32(u32::try_from(length).expect("answers are not that long"));
    message.encode_raw(&mut framed);
    framed.freeze()
}

/// Parses a message.
pub(super) fn parse<M: Message + Default>(message: &[u8]) -> Result<M, Status> {
    M::decode(message).map_err(|error| Status::internal(format!("invalid message: {error}")))
}

/// Error of reading a message.
#[derive(Debug)]
pub(super) enum MessageError {
    /// The message is too large.
    TooLarge(String),
    Wrong(Status),
}

impl From<Status> for MessageError {
    fn from(status: Status) -> Self {
        Self::Wrong(status)
    }
}

impl From<MessageError> for Status {
    fn from(unread: MessageError) -> Self {
        match unread {
            MessageError::TooLarge(why) => Self::new(StatusCode::ResourceExhausted, why),
            MessageError::Wrong(status) => status,
        }
    }
}

/// The only message of a call. One that is here in one piece is not copied, and nothing waits.
pub(super) async fn only<C: Clock>(
    mut body: RecvStream,
    connection: &ConnectionState<C>,
    route: Route,
) -> Result<Bytes, MessageError> {
    let budget = connection.budget(route);
    let max_bytes = budget.max_bytes;
    let first = poll_fn(|context| Poll::Ready(body.poll_data(context))).await;
    let part = match first {
        Poll::Ready(Some(Ok(all))) if body.is_end_stream() => return whole(all, max_bytes),
        Poll::Ready(Some(Ok(part))) => part,
        Poll::Ready(Some(Err(error))) => return Err(gone(&error).into()),
        Poll::Ready(None) => return Err(not_one().into()),
        Poll::Pending => Bytes::new(),
    };
    // Boxed, since few calls come in pieces.
    Box::pin(async {
        let pieces = timeout(connection.bounds.body, collect(body, part, &budget));
        whole(pieces.await.unwrap_or_else(|_| Err(too_slow().into()))?, max_bytes)
    })
    .await
}

/// All bytes of a call, as long as they may become one message.
async fn collect(
    mut body: RecvStream,
    first: Bytes,
    budget: &MessageBudget<'_>,
) -> Result<Bytes, MessageError> {
    let mut reservation = budget.part();
    let mut all = BytesMut::new();
    let mut next = Some(first);
    while let Some(data) = next {
        if !reservation.grow(data.len()) {
            return Err(too_many().into());
        }
        all.extend_from_slice(&data);
        if length(&all, budget.max_bytes)?.is_some_and(|length| PREFIX_BYTES + length < all.len()) {
            return Err(not_one().into());
        }
        // Bytes stay counted until the call is over, so that the budget is a bound.
        next = poll_fn(|context| body.poll_data(context)).await.transpose().map_err(|error| gone(&error))?;
    }
    Ok(all.freeze())
}

/// Message that consists of all these bytes.
fn whole(mut all: Bytes, max_bytes: usize) -> Result<Bytes, MessageError> {
    match length(&all, max_bytes)? {
        Some(length) if PREFIX_BYTES + length == all.len() => {
            all.advance(PREFIX_BYTES);
            Ok(all)
        }
        Some(length) if PREFIX_BYTES + length < all.len() => Err(not_one().into()),
        None if all.is_empty() => Err(not_one().into()),
        _ => Err(cut_off().into()),
    }
}

/// Length of the message at the beginning, if its prefix is here.
fn length(bytes: &[u8], max_bytes: usize) -> Result<Option<usize>, MessageError> {
    let Some((&[compressed, a, b, c, d], _)) = bytes.split_first_chunk() else { return Ok(None) };
    if compressed != 0 {
        return Err(Status::unimplemented("compressed messages are not supported").into());
    }
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if length > max_bytes {
        return Err(MessageError::TooLarge(format!("a message has at most {max_bytes} bytes, not {length}")));
    }
    Ok(Some(length))
}

/// Messages of a call that may have several.
pub(super) struct Messages<'v> {
    body: RecvStream,
    unread: BytesMut,
    max_bytes: usize,
    reservation: ByteReservation<'v>,
}

impl<'v> Messages<'v> {
    pub(super) fn new(body: RecvStream, budget: &MessageBudget<'v>) -> Self {
        Self { body, unread: BytesMut::new(), max_bytes: budget.max_bytes, reservation: budget.part() }
    }

    /// The next message; `None` after the last.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, MessageError> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            match self.read().await? {
                MessageRead::Bytes => {}
                MessageRead::Ended if self.unread.is_empty() => return Ok(None),
                MessageRead::Ended => return Err(cut_off().into()),
            }
        }
    }

    /// Reads while no message is needed, so that all bytes are counted. Completes when there are
    /// too many.
    pub(super) async fn overflow(&mut self) -> Status {
        loop {
            match self.read().await {
                Ok(MessageRead::Bytes) => {}
                Ok(MessageRead::Ended) => pending().await,
                Err(status) => return status,
            }
        }
    }

    async fn read(&mut self) -> Result<MessageRead, Status> {
        let data = poll_fn(|context| self.body.poll_data(context)).await.transpose();
        let Some(data) = data.map_err(|error| gone(&error))? else { return Ok(MessageRead::Ended) };
        // A failure means that the stream is over, which the next read reports.
        let _over = self.body.flow_control().release_capacity(data.len());
        if !self.reservation.grow(data.len()) {
            return Err(too_many());
        }
        self.unread.extend_from_slice(&data);
        Ok(MessageRead::Bytes)
    }

    fn take(&mut self) -> Result<Option<Bytes>, MessageError> {
        let Some(length) = length(&self.unread, self.max_bytes)? else { return Ok(None) };
        if self.unread.len() < PREFIX_BYTES + length {
            return Ok(None);
        }
        self.reservation.shrink(PREFIX_BYTES + length);
        self.unread.advance(PREFIX_BYTES);
        Ok(Some(self.unread.split_to(length).freeze()))
    }
}

/// Outcome of a read.
enum MessageRead {
    Bytes,
    Ended,
}

fn too_many() -> Status {
    Status::unavailable("too many incomplete calls; retry")
}

fn not_one() -> Status {
    Status::unimplemented("the call takes exactly one message")
}

fn cut_off() -> Status {
    Status::internal("the call ended within a message")
}

fn too_slow() -> Status {
    Status::deadline_exceeded("timed out reading the message")
}

/// Status of a call that the client has cancelled.
fn gone(error: &h2::Error) -> Status {
    Status::new(StatusCode::Cancelled, error.to_string())
}
