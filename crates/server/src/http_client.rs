//! HTTP client with one connection per request, over TLS for https: of the OTLP exporter and of the
//! command line.

mod tls;
mod url;

use std::error::Error;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

pub use self::tls::TlsFiles;
pub use self::url::{HttpUrl, InvalidUrl};
use crate::config::tls_error::TlsError;

/// HTTP client of one server.
#[derive(Debug)]
pub struct HttpClient {
    url: HttpUrl,
    /// Set for https only.
    tls: Option<Arc<ClientConfig>>,
}

/// Failure of a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpClientError {
    /// The path or a header is invalid.
    #[error("invalid request: {0}")]
    Request(#[from] hyper::http::Error),
    /// There is no TCP connection.
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    /// The TLS handshake failed.
    #[error("TLS handshake failed: {0}")]
    Handshake(io::Error),
    /// The exchange failed.
    #[error("invalid HTTP response: {error}")]
    Exchange {
        /// Error of the request.
        error: hyper::Error,
        /// Error of its connection, which may say more: a server rejects a client certificate after
        /// the handshake, and only the connection receives that alert.
        connection: Option<hyper::Error>,
    },
}

impl HttpClientError {
    /// Error inside this one of a certain type, such as [`rustls::Error`].
    pub fn find<E: Error + 'static>(&self) -> Option<&E> {
        match self {
            Self::Request(error) => find(error),
            Self::Connect(error) | Self::Handshake(error) => find(error),
            Self::Exchange { error, connection } => find(error).or_else(|| find(connection.as_ref()?)),
        }
    }
}

fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        // The source of an I/O error is the source of the error that it wraps, not that error.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

impl HttpClient {
    /// Client of a server. Reads the files if the URL is https, and connects to nothing yet.
    pub fn new(url: HttpUrl, files: &TlsFiles<'_>) -> Result<Self, TlsError> {
        let tls = url.is_https().then(|| tls::config(files)).transpose()?;
        Ok(Self { url, tls })
    }

    /// URL of the server.
    pub fn url(&self) -> &HttpUrl {
        &self.url
    }

    /// Sends a request to a path below the URL.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, HttpClientError> {
        let builder = Request::builder().method(method).uri(format!("{}{path}", self.url.prefix()));
        let length = HeaderValue::from(body.len());
        let mut request = builder.header(HOST, self.url.authority()).body(Full::new(body))?;
        request.headers_mut().extend(headers);
        request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        // Of an empty body too, which some servers require.
        if request.method() == Method::POST {
            request.headers_mut().insert(CONTENT_LENGTH, length);
        }
        let stream = TcpStream::connect((self.url.host(), self.url.port())).await;
        let stream = stream.map_err(HttpClientError::Connect)?;
        let Some(tls) = &self.tls else { return exchange(stream, request).await };
        let name = ServerName::try_from(self.url.host().to_owned());
        let name = name.map_err(|error| HttpClientError::Handshake(io::Error::other(error)))?;
        let stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await;
        exchange(stream.map_err(HttpClientError::Handshake)?, request).await
    }
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, HttpClientError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) =
        handshake.map_err(|error| HttpClientError::Exchange { error, connection: None })?;
    // The task ends with the body of the response.
    let connection = tokio::spawn(connection);
    match sender.send_request(request).await {
        Ok(response) => Ok(response),
        Err(error) => {
            drop(sender);
            let connection = connection.await.ok().and_then(Result::err);
            Err(HttpClientError::Exchange { error, connection })
        }
    }
}
