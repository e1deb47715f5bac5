//! Client of a collector: HTTP with a connection per message, since there are few.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::handshake;
use hyper::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{HeaderMap, Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use prost::Message;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::endpoint::Endpoint;
use super::messages::Response;
use super::variables::Variables;
use crate::config::otlp_error::OtlpError;
use crate::config::pem;

/// More than any answer needs.
const MAX_ANSWER_BYTES: usize = 64 << 10;
const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");
const AGENT: HeaderValue = HeaderValue::from_static(concat!("slidegate/", env!("CARGO_PKG_VERSION")));

/// Client of a collector.
pub(super) struct Client {
    endpoint: Endpoint,
    headers: HeaderMap,
    timeout: Duration,
    /// For https alone.
    tls: Option<Arc<ClientConfig>>,
}

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Failure to send a message.
#[derive(Debug)]
pub(super) enum SendFailure {
    /// It may take it another time, and may have said when.
    ForNow { why: String, retry_after: Option<Duration> },
    /// It never will.
    ForGood(String),
}

impl SendFailure {
    fn for_now(why: impl Into<Error>) -> Self {
        Self::ForNow { why: why.into().to_string(), retry_after: None }
    }
}

impl Client {
    pub(super) fn new(endpoint: Endpoint, variables: &Variables) -> Result<Self, OtlpError> {
        let tls = endpoint.is_tls.then(|| trusting(variables)).transpose()?;
        Ok(Self { endpoint, headers: variables.headers.clone(), timeout: variables.timeout, tls })
    }

    /// Sends a message of one kind, and waits for as long as the collector has.
    pub(super) async fn send(&self, signal: &str, message: &impl Message) -> Result<Response, SendFailure> {
        let request = self.request(signal, message.encode_to_vec().into());
        let late = |_| SendFailure::for_now(format!("no answer within {:?}", self.timeout));
        timeout(self.timeout, self.ask(request)).await.map_err(late)?
    }

    fn request(&self, signal: &str, body: Bytes) -> Request<Full<Bytes>> {
        let length = HeaderValue::from(body.len());
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.endpoint.path(signal).parse().expect("a path of an address that was read");
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        let host =
            HeaderValue::from_str(&self.endpoint.authority).expect("a part of an address that was read");
        let own = [(HOST, host), (CONTENT_TYPE, PROTOBUF), (CONTENT_LENGTH, length), (USER_AGENT, AGENT)];
        headers.extend(own.into_iter().map(|(name, value)| (Some(name), value)));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        request
    }

    async fn ask(&self, request: Request<Full<Bytes>>) -> Result<Response, SendFailure> {
        let stream = TcpStream::connect((&*self.endpoint.host, self.endpoint.port)).await;
        let stream = stream.map_err(SendFailure::for_now)?;
        match &self.tls {
            None => answer(stream, request).await,
            Some(tls) => {
                let name = ServerName::try_from(self.endpoint.host.clone());
                let name = name.map_err(|error| SendFailure::ForGood(error.to_string()))?;
                let stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await;
                answer(stream.map_err(SendFailure::for_now)?, request).await
            }
        }
    }
}

async fn answer<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Response, SendFailure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(SendFailure::for_now)?;
    let exchange = async {
        let answer = sender.send_request(request).await.map_err(SendFailure::for_now)?;
        let (head, body) = answer.into_parts();
        if head.status != StatusCode::OK {
            return Err(refused(head.status, &head.headers));
        }
        let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(SendFailure::for_now)?;
        // It was taken, whatever is said about it.
        Ok(Response::decode(body.to_bytes()).unwrap_or_default())
    };
    // The connection moves while it is polled. What breaks it breaks the exchange too, which may have all that it needs by then.
    let moves = async {
        let _ended = connection.await;
        pending().await
    };
    tokio::select! {
        answer = exchange => answer,
        never = moves => never,
    }
}

/// Failure by the status of a response, as OTLP specifies.
fn refused(status: StatusCode, headers: &HeaderMap) -> SendFailure {
    let why = format!("it answers {status}");
    match status.as_u16() {
        429 | 502..=504 => {
            let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            SendFailure::ForNow { why, retry_after: seconds.map(Duration::from_secs) }
        }
        _ => SendFailure::ForGood(why),
    }
}

/// The provider is named, so that it does not matter whether the process has set one for everybody.
fn trusting(variables: &Variables) -> Result<Arc<ClientConfig>, OtlpError> {
    let mut roots = RootCertStore::empty();
    match &variables.certificate {
        Some(path) => drop(roots.add_parsable_certificates(pem::authorities(path)?)),
        // What the system has may include certificates that rustls does not understand.
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests;
