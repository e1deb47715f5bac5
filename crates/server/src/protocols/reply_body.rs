//! Body of a response: whole, or a stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};

/// Body of a response.
pub(crate) enum ReplyBody {
    /// A whole body, as nearly every response has.
    Whole(Full<Bytes>),
    /// A body that lasts until the stream ends.
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl ReplyBody {
    /// Whole body.
    #[inline]
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Full::new(bytes.into()))
    }

    /// Streamed body.
    pub(crate) fn stream(chunks: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::Stream(Box::pin(chunks))
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
            Self::Stream(chunks) => {
                chunks.as_mut().poll_next(context).map(|chunk| chunk.map(Frame::data).map(Ok))
            }
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
