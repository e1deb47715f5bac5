//! The body of an answer: known as a whole, or told bit by bit.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};

/// The body of an answer.
pub(crate) enum ReplyBody {
    /// All of it is known, as it is for nearly every answer.
    Whole(Full<Bytes>),
    /// It goes on until the stream ends.
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl ReplyBody {
    /// Whole body.
    #[inline]
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Full::new(bytes.into()))
    }

    /// Body that is streamed.
    pub(crate) fn stream(bits: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::Stream(Box::pin(bits))
    }
}

impl Default for ReplyBody {
    fn default() -> Self {
        Self::Whole(Full::default())
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(whole) => Pin::new(whole).poll_frame(context),
            Self::Stream(bits) => bits.as_mut().poll_next(context).map(|bit| bit.map(Frame::data).map(Ok)),
        }
    }

    #[inline]
    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(whole) => whole.is_end_stream(),
            Self::Stream(_) => false,
        }
    }

    #[inline]
    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(whole) => whole.size_hint(),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
