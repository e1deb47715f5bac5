//! Retries as a middleware of reqwest.

use async_trait::async_trait;
use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{Middleware, Next};

use crate::environment::{Environment, TokioEnvironment};
use crate::retry::Retry;

/// Middleware that retries refused requests.
///
/// A response that is not retried carries the reason, a [`Stop`](crate::Stop), as an extension.
///
/// ```
/// use reqwest_middleware::ClientBuilder;
/// use slidegate_client::{Retry, RetryMiddleware};
///
/// let client = ClientBuilder::new(reqwest::Client::new())
///     .with(RetryMiddleware::new(Retry::new()))
///     .build();
/// ```
#[derive(Debug)]
pub struct RetryMiddleware<E = TokioEnvironment> {
    retry: Retry<E>,
}

impl<E> RetryMiddleware<E> {
    /// Middleware with a policy.
    pub fn new(retry: Retry<E>) -> Self {
        Self { retry }
    }
}

#[async_trait]
impl<E: Environment> Middleware for RetryMiddleware<E> {
    async fn handle(
        &self,
        mut request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        let origin = request.url().origin().ascii_serialization();
        let mut attempts = self.retry.start(origin, request.method().clone());
        loop {
            attempts.ready().await;
            let copy = request.try_clone();
            let mut response = next.clone().run(request, extensions).await?;
            match attempts.next(response.status(), response.headers(), copy) {
                Ok(copy) => request = copy,
                Err(stop) => {
                    response.extensions_mut().insert(stop);
                    return Ok(response);
                }
            }
        }
    }
}
