//! Retries as a tower layer, for HTTP clients that are a `Service<http::Request<B>>`: hyper-util's,
//! for one.
//!
//! A response that is not retried carries the reason, a [`Stop`](crate::Stop), as an extension.

use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{HeaderMap, Request, Response, Uri, header};
use tower_layer::Layer;
use tower_service::Service;

use crate::environment::{Environment, TokioEnvironment};
use crate::retry::Retry;

/// Body that can be sent again, or not.
///
/// Every body that is `Clone` can. A streaming body implements this trait and returns `None` where
/// it cannot be copied; then a refused request is not sent again.
pub trait ReplayableBody: Sized {
    /// Copy of the body from its start.
    fn replay(&self) -> Option<Self>;
}

impl<B: Clone> ReplayableBody for B {
    fn replay(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Layer that retries refused requests.
///
/// ```
/// use slidegate_client::{Retry, RetryLayer};
///
/// let layer = RetryLayer::new(Retry::new().pause_origins());
/// ```
#[derive(Debug)]
pub struct RetryLayer<E = TokioEnvironment> {
    retry: Retry<E>,
}

impl<E> RetryLayer<E> {
    /// Layer with a policy. All services that it makes share the state of origins.
    pub fn new(retry: Retry<E>) -> Self {
        Self { retry }
    }
}

impl<E> Clone for RetryLayer<E> {
    fn clone(&self) -> Self {
        Self { retry: self.retry.clone() }
    }
}

impl<S, E> Layer<S> for RetryLayer<E> {
    type Service = RetryService<S, E>;

    fn layer(&self, inner: S) -> Self::Service {
        RetryService { inner, retry: self.retry.clone() }
    }
}

/// Service that retries refused requests. Made by a [`RetryLayer`].
#[derive(Debug)]
pub struct RetryService<S, E = TokioEnvironment> {
    inner: S,
    retry: Retry<E>,
}

impl<S: Clone, E> Clone for RetryService<S, E> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), retry: self.retry.clone() }
    }
}

impl<S, E, B, P> Service<Request<B>> for RetryService<S, E>
where
    S: Service<Request<B>, Response = Response<P>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    E: Environment,
    B: ReplayableBody + Send + 'static,
    P: Send,
{
    type Response = Response<P>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        // The service that is ready, not its clone, sends the request.
        let clone = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, clone);
        let mut attempts =
            self.retry.start(origin(request.uri(), request.headers()), request.method().clone());
        Box::pin(async move {
            loop {
                attempts.ready().await;
                let copy = copy(&request);
                let mut response = inner.call(request).await?;
                match attempts.next(response.status(), response.headers(), copy) {
                    Ok(copy) => request = copy,
                    Err(stop) => {
                        response.extensions_mut().insert(stop);
                        return Ok(response);
                    }
                }
                drop(response);
                poll_fn(|context| inner.poll_ready(context)).await?;
            }
        })
    }
}

fn copy<B: ReplayableBody>(request: &Request<B>) -> Option<Request<B>> {
    let mut copy = Request::new(request.body().replay()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

/// Scheme, host and port, by the `Host` header where the target has none.
fn origin(uri: &Uri, headers: &HeaderMap) -> String {
    let scheme = uri.scheme_str().unwrap_or("http");
    let authority = match (uri.host(), uri.port_u16()) {
        (Some(host), Some(port)) if !is_default_port(scheme, port) => format!("{host}:{port}"),
        (Some(host), _) => host.to_owned(),
        (None, _) => {
            let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
            host.unwrap_or_default().to_owned()
        }
    };
    format!("{scheme}://{}", authority.to_ascii_lowercase())
}

fn is_default_port(scheme: &str, port: u16) -> bool {
    matches!((scheme, port), ("http", 80) | ("https", 443))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_those_of_rfc_6454() {
        let rows = [
            ("https://API.example.com/orders?page=2", "https://api.example.com"),
            ("https://api.example.com:443/", "https://api.example.com"),
            ("https://user:secret@api.example.com:8443/", "https://api.example.com:8443"),
            ("http://api.example.com:443/", "http://api.example.com:443"),
            ("http://[2001:db8::1]:80/", "http://[2001:db8::1]"),
            ("/orders", "http://from-host:8080"),
        ];
        let headers = HeaderMap::from_iter([(header::HOST, "From-Host:8080".parse().expect("a value"))]);
        for (uri, expected) in rows {
            assert_eq!(origin(&uri.parse().expect("a URI"), &headers), expected);
        }
    }
}
