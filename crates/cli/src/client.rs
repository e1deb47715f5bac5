//! HTTP client of the commands that talk to a server: one request, with JSON as its body.

use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Method};
use slidegate_server::http_client::{HttpClient, HttpUrl};

mod args;
mod error;
mod response;

pub(crate) use args::{ServerArgs, TlsArgs};
pub(crate) use error::ClientError;
pub(crate) use response::ServerResponse;

/// Longest response. Thousands of rules take some megabytes, the most overrides 16.
const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// Client of one server.
pub(crate) struct JsonClient {
    http: HttpClient,
    headers: HeaderMap,
}

impl JsonClient {
    /// Reads the files that `tls` names, if the URL is https. Connects to nothing yet.
    pub(crate) fn new(url: &HttpUrl, tls: &TlsArgs, token: Option<&str>) -> Result<Self, ClientError> {
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            let value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| ClientError::Token)?;
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Self { http: HttpClient::new(url.clone(), &tls.files())?, headers })
    }

    /// Sends a request, and blocks until the whole response is here.
    pub(crate) fn send(
        &self,
        method: Method,
        path: &str,
        json: Option<String>,
        timeout: Duration,
    ) -> Result<ServerResponse, ClientError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let exchange = async { tokio::time::timeout(timeout, self.exchange(method, path, json)).await };
        runtime
            .map_err(ClientError::Runtime)?
            .block_on(exchange)
            .map_err(|_| ClientError::Timeout(timeout))?
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        json: Option<String>,
    ) -> Result<ServerResponse, ClientError> {
        let mut headers = self.headers.clone();
        if json.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let response = self.http.send(method, path, headers, json.unwrap_or_default().into()).await;
        let response = response.map_err(|error| ClientError::from_http(self.http.url(), error))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES).collect().await;
        Ok(ServerResponse { status, body: body.map_err(ClientError::from_body)?.to_bytes() })
    }
}
