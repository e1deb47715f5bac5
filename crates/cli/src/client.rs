//! HTTP client of the commands that talk to a server: one request per connection, over TLS for
//! https.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

mod args;
mod error;
mod response;
mod tls;
mod url;

pub(crate) use args::{ServerArgs, TlsArgs};
pub(crate) use error::ClientError;
pub(crate) use response::ServerResponse;
pub(crate) use url::ServerUrl;

/// Longest response. Thousands of rules take some megabytes, the most overrides 16.
const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// HTTP client of one server.
pub(crate) struct HttpClient {
    url: ServerUrl,
    token: Option<String>,
    /// Set for https alone.
    tls: Option<Arc<ClientConfig>>,
}

impl HttpClient {
    /// Reads the files that `tls` names, if the URL is https. Connects to nothing yet.
    pub(crate) fn new(url: &ServerUrl, tls: &TlsArgs, token: Option<&str>) -> Result<Self, ClientError> {
        let tls = url.is_https().then(|| tls::config(tls)).transpose()?;
        Ok(Self { url: url.clone(), token: token.map(str::to_owned), tls })
    }

    /// Sends a request, with JSON as its body, and blocks until the whole response is here.
    pub(crate) fn send(
        &self,
        method: Method,
        path: &str,
        json: Option<String>,
        timeout: Duration,
    ) -> Result<ServerResponse, ClientError> {
        let request = self.request(method, path, json)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let exchange = async { tokio::time::timeout(timeout, self.connect_and_send(request)).await };
        runtime
            .map_err(ClientError::Runtime)?
            .block_on(exchange)
            .map_err(|_| ClientError::Timeout(timeout))?
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        json: Option<String>,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url.prefix()))
            .header(HOST, self.url.authority());
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if json.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        Ok(request.body(Full::from(json.unwrap_or_default()))?)
    }

    async fn connect_and_send(&self, request: Request<Full<Bytes>>) -> Result<ServerResponse, ClientError> {
        let stream = TcpStream::connect((self.url.host(), self.url.port())).await;
        let stream = stream.map_err(ClientError::Connect)?;
        match &self.tls {
            None => self.exchange(stream, request).await,
            Some(config) => {
                let stream = tls::connect(Arc::clone(config), &self.url, stream).await;
                let stream = stream.map_err(|error| ClientError::from_handshake(&self.url, &error))?;
                self.exchange(stream, request).await
            }
        }
    }

    async fn exchange<S>(
        &self,
        stream: S,
        request: Request<Full<Bytes>>,
    ) -> Result<ServerResponse, ClientError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let http_error = |error, connection| ClientError::from_http(&self.url, error, connection);
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| http_error(error, None))?;
        let connection = tokio::spawn(connection);
        let response = match sender.send_request(request).await {
            Ok(response) => response,
            Err(error) => {
                // A server rejects a client certificate after the handshake: only the connection
                // receives that alert.
                drop(sender);
                return Err(http_error(error, connection.await.ok().and_then(Result::err)));
            }
        };
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES).collect().await;
        connection.abort();
        Ok(ServerResponse { status, body: body.map_err(ClientError::from_body)?.to_bytes() })
    }
}
