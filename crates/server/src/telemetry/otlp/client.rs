//! Client of a collector: a connection per message, since there are few.

use std::error::Error;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{HeaderMap, Method, StatusCode};
use prost::Message;
use tokio::time::timeout;

use super::messages::Response;
use super::variables::Variables;
use crate::config::otlp_error::OtlpError;
use crate::http_client::{HttpClient, HttpUrl, TlsFiles};

/// Maximum length of a response.
const MAX_RESPONSE_BYTES: usize = 64 << 10;
const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");
const AGENT: HeaderValue = HeaderValue::from_static(concat!("slidegate/", env!("CARGO_PKG_VERSION")));

/// Client of a collector.
pub(super) struct CollectorClient {
    client: HttpClient,
    headers: HeaderMap,
    timeout: Duration,
}

/// Failure to send a message.
#[derive(Debug)]
pub(super) enum SendFailure {
    /// A retry may succeed, after this time if the collector named one.
    Temporary { why: String, retry_after: Option<Duration> },
    /// A retry cannot succeed.
    Permanent(String),
}

impl SendFailure {
    fn temporary(why: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Temporary { why: why.into().to_string(), retry_after: None }
    }

    /// Failure by the status of a response, as OTLP specifies.
    fn of(status: StatusCode, headers: &HeaderMap) -> Self {
        let why = format!("response status {status}");
        match status.as_u16() {
            429 | 502..=504 => {
                let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
                Self::Temporary { why, retry_after: seconds.map(Duration::from_secs) }
            }
            _ => Self::Permanent(why),
        }
    }
}

impl CollectorClient {
    pub(super) fn new(url: HttpUrl, variables: &Variables) -> Result<Self, OtlpError> {
        let files = TlsFiles { authorities: variables.certificate.as_deref(), ..TlsFiles::default() };
        let mut headers = variables.headers.clone();
        headers.insert(CONTENT_TYPE, PROTOBUF);
        headers.insert(USER_AGENT, AGENT);
        Ok(Self { client: HttpClient::new(url, &files)?, headers, timeout: variables.timeout })
    }

    /// Sends a message to the path of its signal, `traces` or `metrics`.
    pub(super) async fn send(&self, signal: &str, message: &impl Message) -> Result<Response, SendFailure> {
        let late = |_| SendFailure::temporary(format!("no response within {:?}", self.timeout));
        timeout(self.timeout, self.exchange(signal, message)).await.map_err(late)?
    }

    async fn exchange(&self, signal: &str, message: &impl Message) -> Result<Response, SendFailure> {
        let (path, body) = (format!("/v1/{signal}"), message.encode_to_vec().into());
        let response = self.client.send(Method::POST, &path, self.headers.clone(), body).await;
        let (head, body) = response.map_err(SendFailure::temporary)?.into_parts();
        if head.status != StatusCode::OK {
            return Err(SendFailure::of(head.status, &head.headers));
        }
        let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await.map_err(SendFailure::temporary)?;
        // The collector accepted the message, whatever the body is.
        Ok(Response::decode(body.to_bytes()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
