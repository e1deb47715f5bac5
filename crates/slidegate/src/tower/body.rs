//! Response body of a limited service.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

/// What a request has until its response ends, and returns when it is dropped: a charge, or a slot.
pub(super) trait ResponseGuard: Send + Sync + std::fmt::Debug {}

pin_project! {
    /// Body of the service, or of a refusal. The charge or slot of the request ends with it.
    #[derive(Debug)]
    pub struct LimitedBody<B> {
        #[pin]
        content: Content<B>,
        guard: Option<Arc<dyn ResponseGuard>>,
    }
}

pin_project! {
    #[project = ContentProjection]
    #[derive(Debug)]
    enum Content<B> {
        Service { #[pin] body: B },
        Refusal { bytes: Option<Bytes> },
    }
}

impl<B> LimitedBody<B> {
    pub(super) fn of_service(body: B, guard: Option<Arc<dyn ResponseGuard>>) -> Self {
        Self { content: Content::Service { body }, guard }
    }

    pub(super) fn of_refusal(bytes: Bytes) -> Self {
        let bytes = Some(bytes).filter(|bytes| !bytes.is_empty());
        Self { content: Content::Refusal { bytes }, guard: None }
    }
}

impl<B: Body<Data = Bytes>> Body for LimitedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        let frame = match this.content.project() {
            ContentProjection::Service { body } => ready!(body.poll_frame(context)),
            ContentProjection::Refusal { bytes } => bytes.take().map(|bytes| Ok(Frame::data(bytes))),
        };
        if !matches!(frame, Some(Ok(_))) {
            *this.guard = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Service { body } => body.is_end_stream(),
            Content::Refusal { bytes } => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Service { body } => body.size_hint(),
            Content::Refusal { bytes } => SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64)),
        }
    }
}
