//! Layer over an adaptive limiter: partitions, completions, the form of refusals.

mod completion;
mod service;
mod slot;

use std::sync::Arc;
use std::time::Duration;

use ::http::header::{HeaderValue, RETRY_AFTER};
use ::http::request::Parts;
use ::http::{Response, response};
use bytes::Bytes;
use tower_layer::Layer;

use super::refusal::{GRPC_RETRY_PUSHBACK, Refusal, RefuseFn, is_grpc, respond};
use crate::adaptive::{AdaptiveLimiter, RequestCompletion};
use crate::headers::seconds;

pub use completion::completion_of;
pub use service::AdaptiveService;

/// Function that selects the partition of a request.
type PartitionFn = dyn for<'a> Fn(&'a Parts) -> &'a str + Send + Sync;
/// Function that says what a response tells about the load of the service.
type CompletionFn = dyn Fn(&response::Parts) -> RequestCompletion + Send + Sync;

/// Layer that bounds the requests in flight by an [`AdaptiveLimiter`].
///
/// ```
/// use slidegate::adaptive::Adaptive;
/// use slidegate::tower::AdaptiveLayer;
///
/// let limiter = Adaptive::gradient().partition("live", 0.9).partition("batch", 0.1).build()?;
/// let layer = AdaptiveLayer::new(limiter).partition_with(|parts| match parts.uri.path() {
///     "/export" => "batch",
///     _ => "live",
/// });
/// # Ok::<(), slidegate::adaptive::AdaptiveError>(())
/// ```
///
/// A request has its slot until the response body ends or is dropped, on an error, a panic and a
/// disconnect too. Its latency is measured until the response head: how fast a client reads does
/// not matter. Clones share the limiter.
#[derive(Clone)]
pub struct AdaptiveLayer {
    limiter: Arc<AdaptiveLimiter>,
    options: Arc<AdaptiveOptions>,
}

/// Options of the layer.
struct AdaptiveOptions {
    partition: Option<Box<PartitionFn>>,
    completion: Box<CompletionFn>,
    error_completion: RequestCompletion,
    refuse: Option<Box<RefuseFn>>,
    retry: Option<RetryFields>,
}

/// Header fields of refusals that demand a wait.
struct RetryFields {
    seconds: HeaderValue,
    pushback_ms: HeaderValue,
}

impl AdaptiveLayer {
    /// Layer over this limiter.
    pub fn new(limiter: impl Into<Arc<AdaptiveLimiter>>) -> Self {
        let options = AdaptiveOptions {
            partition: None,
            completion: Box::new(completion_of),
            error_completion: RequestCompletion::Overload,
            refuse: None,
            retry: None,
        };
        Self { limiter: limiter.into(), options: Arc::new(options) }
    }

    /// Limiter with the limit, the requests in flight, and the counts of refusals.
    pub fn limiter(&self) -> &Arc<AdaptiveLimiter> {
        &self.limiter
    }

    /// Partition of a request. Without this, requests are in none.
    ///
    /// Whatever it reads decides who is served under overload: a header that clients write
    /// themselves is not fit for it.
    pub fn partition_with(
        mut self,
        function: impl for<'a> Fn(&'a Parts) -> &'a str + Send + Sync + 'static,
    ) -> Self {
        self.options_mut().partition = Some(Box::new(function));
        self
    }

    /// What the head of a response tells about the load of the service; [`completion_of`] by
    /// default.
    pub fn completion_with(
        mut self,
        function: impl Fn(&response::Parts) -> RequestCompletion + Send + Sync + 'static,
    ) -> Self {
        self.options_mut().completion = Box::new(function);
        self
    }

    /// What an error of the service tells about its load; [`RequestCompletion::Overload`] by
    /// default, since a time-out is such an error.
    pub fn error_completion(mut self, completion: RequestCompletion) -> Self {
        self.options_mut().error_completion = completion;
        self
    }

    /// Time that refused clients have to wait at least, as `Retry-After` in seconds, rounded up, or
    /// `grpc-retry-pushback-ms`. It spreads load; it promises no slot. By default a refusal names no
    /// time, because nobody knows when a slot will be free.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        let wait_ms = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        let (seconds, pushback_ms) = (seconds(wait_ms).into(), wait_ms.into());
        self.options_mut().retry = Some(RetryFields { seconds, pushback_ms });
        self
    }

    /// Response to refused requests. The default is [`Refusal::problem`], and [`Refusal::grpc`] for
    /// gRPC calls.
    pub fn refuse_with(
        mut self,
        function: impl Fn(&Refusal<'_>) -> Response<Bytes> + Send + Sync + 'static,
    ) -> Self {
        self.options_mut().refuse = Some(Box::new(function));
        self
    }

    fn options_mut(&mut self) -> &mut AdaptiveOptions {
        Arc::get_mut(&mut self.options).expect("a layer is configured before it is cloned or applied")
    }
}

impl AdaptiveOptions {
    fn partition<'a>(&self, parts: &'a Parts) -> &'a str {
        self.partition.as_ref().map_or("", |partition| partition(parts))
    }

    #[cold]
    fn refuse(&self, partition: &str, parts: &Parts) -> Response<Bytes> {
        let mut response =
            respond(&Refusal::Overloaded { partition }, self.refuse.as_deref(), &parts.headers);
        if let Some(retry) = &self.retry {
            let (name, value) = match is_grpc(&parts.headers) {
                true => (GRPC_RETRY_PUSHBACK, &retry.pushback_ms),
                false => (RETRY_AFTER, &retry.seconds),
            };
            response.headers_mut().insert(name, value.clone());
        }
        response
    }
}

impl std::fmt::Debug for AdaptiveLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdaptiveLayer").field("limiter", &self.limiter).finish_non_exhaustive()
    }
}

impl<T> Layer<T> for AdaptiveLayer {
    type Service = AdaptiveService<T>;

    fn layer(&self, inner: T) -> Self::Service {
        AdaptiveService::new(inner, self.clone())
    }
}
