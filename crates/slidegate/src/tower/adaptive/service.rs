//! Service that takes a slot for each request before it passes it on.

use std::sync::Arc;
use std::task::{Context, Poll};

use ::http::{Request, Response};
use bytes::Bytes;
use http_body::Body;
use tower_service::Service;

use super::AdaptiveLayer;
use super::slot::{SlotAdmission, SlotGuard};
use crate::tower::body::LimitedBody;
use crate::tower::future::ResponseFuture;

/// Service under an adaptive limit. [`AdaptiveLayer`] creates it.
#[derive(Clone, Debug)]
pub struct AdaptiveService<T> {
    inner: T,
    layer: AdaptiveLayer,
}

impl<T> AdaptiveService<T> {
    pub(super) fn new(inner: T, layer: AdaptiveLayer) -> Self {
        Self { inner, layer }
    }

    /// The service itself.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }
}

impl<T, RequestBody, ResponseBody> Service<Request<RequestBody>> for AdaptiveService<T>
where
    T: Service<Request<RequestBody>, Response = Response<ResponseBody>>,
    ResponseBody: Body<Data = Bytes>,
{
    type Response = Response<LimitedBody<ResponseBody>>;
    type Error = T::Error;
    type Future = ResponseFuture<T::Future, Self::Response, T::Error, SlotAdmission>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), T::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let AdaptiveLayer { limiter, options } = &self.layer;
        let (parts, body) = request.into_parts();
        let partition = options.partition(&parts);
        let Some(guard) = SlotGuard::acquire(limiter, partition) else {
            let response = options.refuse(partition, &parts);
            return ResponseFuture::refused(response.map(LimitedBody::of_refusal));
        };
        let admission = SlotAdmission { guard, options: Arc::clone(options) };
        ResponseFuture::passed(self.inner.call(Request::from_parts(parts, body)), admission)
    }
}
