//! Client of a Slidegate server: checks, settlements and refunds over its HTTP API.
//!
//! It is generic over a tower service, because how to connect (TLS, a pool, a proxy, a Unix socket)
//! is the application's own business, and most HTTP clients are such a service: hyper-util's is one
//! as it stands, reqwest's after a conversion of requests. A dependency on one of them would bring
//! its TLS into every application.
//!
//! ```
//! use bytes::Bytes;
//! use http_body_util::Full;
//! use hyper_util::client::legacy::Client;
//! use hyper_util::client::legacy::connect::HttpConnector;
//! use hyper_util::rt::TokioExecutor;
//! use slidegate_client::check::{CheckClient, CheckParameters};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let http: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
//! let client = CheckClient::new(http, "http://127.0.0.1:8080")?;
//! let login = CheckParameters::new().attribute("path", "/login").attribute("ip", "203.0.113.7");
//! if !client.check(&login).await?.is_allowed() {
//!     // 429
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A denial is an answer, not a failure: it is never retried here. With a [`Retry`] of more than
//! one attempt, a request whose response was lost, or was a 503, is sent again. It then has an
//! idempotency key from its first attempt on, made here for this request alone, so that it is
//! charged once. The server remembers a key for the shortest window of the request, at most a
//! minute, and at the cost of memory: without retries there is none.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body::Body;
use http_body_util::{BodyExt, Full, Limited};
use serde::Serialize;
use tower_service::Service;

use crate::advice::RetrySettings;
use crate::environment::{Environment, TokioEnvironment};
use crate::retry::Retry;

mod answer;
mod error;
mod parameters;

pub use answer::{
    CheckAnswer, CheckBlock, CheckLimit, CheckOutcome, CheckSource, CheckVerdict, PermitOutcome,
};
pub use error::{BoxError, CheckError};
pub use parameters::CheckParameters;
use parameters::{CheckCall, PermitCall};

/// Longest response that is read. The largest answers of a server, with 32 limits, are far shorter.
const MAX_RESPONSE_BYTES: usize = 1 << 20;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1);

/// Client of a Slidegate server.
#[derive(Debug)]
pub struct CheckClient<S, E = TokioEnvironment> {
    service: S,
    endpoints: Endpoints,
    authorization: Option<HeaderValue>,
    timeout: Duration,
    retry: Retry<E>,
}

#[derive(Clone, Debug)]
struct Endpoints {
    check: Uri,
    settle: Uri,
    refund: Uri,
}

impl<S: Clone, E> Clone for CheckClient<S, E> {
    fn clone(&self) -> Self {
        Self {
            service: self.service.clone(),
            endpoints: self.endpoints.clone(),
            authorization: self.authorization.clone(),
            timeout: self.timeout,
            retry: self.retry.clone(),
        }
    }
}

impl<S> CheckClient<S> {
    /// Client of the server at this address, such as `http://127.0.0.1:8080`, without retries.
    pub fn new(service: S, server: &str) -> Result<Self, CheckError> {
        let settings = RetrySettings { max_attempts: 1, ..RetrySettings::default() };
        Self::with_retry(service, server, Retry::new().settings(settings))
    }
}

impl<S, E: Environment> CheckClient<S, E> {
    /// Client that sends a request again if its response is lost or a 503.
    pub fn with_retry(service: S, server: &str, retry: Retry<E>) -> Result<Self, CheckError> {
        let uri = |path| {
            let uri = format!("{}{path}", server.trim_end_matches('/')).parse::<Uri>().ok();
            uri.filter(|uri| uri.scheme().is_some()).ok_or_else(|| CheckError::Address(server.to_owned()))
        };
        let endpoints =
            Endpoints { check: uri("/v1/check")?, settle: uri("/v1/settle")?, refund: uri("/v1/refund")? };
        Ok(Self { service, endpoints, authorization: None, timeout: DEFAULT_TIMEOUT, retry })
    }

    /// Sets the token that the server requires.
    pub fn token(self, token: &str) -> Result<Self, CheckError> {
        let mut authorization = HeaderValue::try_from(format!("Bearer {token}"))?;
        authorization.set_sensitive(true);
        Ok(Self { authorization: Some(authorization), ..self })
    }

    /// Sets how long an attempt may take, 1 s by default. A check that waits has its wait on top.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

impl<S, B, E> CheckClient<S, E>
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: Body,
    B::Error: Into<BoxError>,
    E: Environment,
{
    /// Checks a request.
    pub async fn check(&self, parameters: &CheckParameters) -> Result<CheckVerdict, CheckError> {
        let environment = self.retry.environment();
        let idempotency_key = (self.retry.max_attempts() > 1)
            .then(|| format!("{:016x}{:016x}", environment.random(), environment.random()));
        let timeout = self.timeout.saturating_add(Duration::from_millis(parameters.wait_ms.unwrap_or(0)));
        let response =
            self.post(&self.endpoints.check, &CheckCall { parameters, idempotency_key }, timeout).await?;
        CheckVerdict::parse(response.status(), response.body())
    }

    /// Replaces the cost that was charged under a permit.
    pub async fn settle(&self, permit: &str, cost: u64) -> Result<PermitOutcome, CheckError> {
        self.use_permit(&self.endpoints.settle, &PermitCall { permit, cost: Some(cost) }).await
    }

    /// Gives back what was charged under a permit.
    pub async fn refund(&self, permit: &str) -> Result<PermitOutcome, CheckError> {
        self.use_permit(&self.endpoints.refund, &PermitCall { permit, cost: None }).await
    }

    async fn use_permit(&self, endpoint: &Uri, call: &PermitCall<'_>) -> Result<PermitOutcome, CheckError> {
        let response = self.post(endpoint, call, self.timeout).await?;
        PermitOutcome::parse(response.status(), response.body())
    }

    /// Posts JSON until there is a response other than 503, or the retry policy stops.
    async fn post(
        &self,
        endpoint: &Uri,
        body: &impl Serialize,
        timeout: Duration,
    ) -> Result<Response<Bytes>, CheckError> {
        let mut body = Bytes::from(serde_json::to_vec(body).map_err(CheckError::Json)?);
        // The idempotency key, or the permit, makes the call as good as a PUT.
        let server = endpoint.authority().map_or("", Authority::as_str);
        let mut attempts = self.retry.start(server, Method::PUT);
        loop {
            attempts.ready().await;
            let sleep = self.retry.environment().sleep(timeout);
            let result = within(sleep, self.send(endpoint, body.clone())).await;
            let result = result.unwrap_or(Err(CheckError::Timeout(timeout)));
            let next = match &result {
                Ok(response) if response.status() == StatusCode::SERVICE_UNAVAILABLE => {
                    attempts.next(response.status(), response.headers(), Some(body))
                }
                Err(CheckError::Transport(_) | CheckError::Timeout(_)) => {
                    // As after a 503 that demands no delay.
                    let headers = HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from(0))]);
                    attempts.next(StatusCode::SERVICE_UNAVAILABLE, &headers, Some(body))
                }
                _ => return result,
            };
            match next {
                Ok(copy) => body = copy,
                Err(_) => return result,
            }
        }
    }

    async fn send(&self, endpoint: &Uri, body: Bytes) -> Result<Response<Bytes>, CheckError> {
        let transport = |error: BoxError| CheckError::Transport(error);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = endpoint.clone();
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(authorization) = &self.authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        let mut service = self.service.clone();
        poll_fn(|context| service.poll_ready(context)).await.map_err(|error| transport(error.into()))?;
        let response = service.call(request).await.map_err(|error| transport(error.into()))?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await.map_err(transport)?;
        Ok(Response::from_parts(parts, body.to_bytes()))
    }
}

/// Value of a call, or `None` if the limit is reached first.
async fn within<T>(limit: impl Future<Output = ()>, call: impl Future<Output = T>) -> Option<T> {
    let (mut limit, mut call) = (pin!(limit), pin!(call));
    let poll = poll_fn(|context| match call.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => limit.as_mut().poll(context).map(|()| None),
    });
    poll.await
}
