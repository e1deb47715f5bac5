//! Asks a server, once: over HTTP, and over TLS where the address says https.

use std::sync::Arc;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

mod address;
mod response;
mod args;
mod error;
mod tls;

pub(crate) use address::Address;
pub(crate) use response::Answered;
pub(crate) use args::{Args, Trust};
pub(crate) use error::ClientError;

/// More than any answer has: thousands of rules take some megabytes, and as many overrides as there may be 16.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// Whom to ask, and as whom.
pub(crate) struct Client {
    address: Address,
    token: Option<String>,
    /// For https alone; whose files are read here.
    tls: Option<Arc<ClientConfig>>,
}

impl Client {
    /// Reads the files that `trust` names, if the address is one of TLS. Nothing is connected yet.
    pub(crate) fn new(address: &Address, trust: &Trust) -> Result<Self, ClientError> {
        let tls = address.is_tls().then(|| tls::config(trust)).transpose()?;
        Ok(Self { address: address.clone(), token: None, tls })
    }

    /// Says who is asking.
    pub(crate) fn token(mut self, token: Option<&str>) -> Self {
        self.token = token.map(str::to_owned);
        self
    }

    /// Asks for what is there.
    pub(crate) async fn get(&self, path: &str) -> Result<Answered, ClientError> {
        self.send(Method::GET, path, None).await
    }

    /// Sends JSON and reads the whole answer.
    pub(crate) async fn post(&self, path: &str, json: String) -> Result<Answered, ClientError> {
        self.send(Method::POST, path, Some(json)).await
    }

    /// Any other method; a body is JSON.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        json: Option<String>,
    ) -> Result<Answered, ClientError> {
        let request = self.request(method, path, json)?;
        let stream = TcpStream::connect((self.address.host(), self.address.port())).await;
        let stream = stream.map_err(ClientError::Connect)?;
        match &self.tls {
            None => self.ask(stream, request).await,
            Some(config) => {
                let stream = tls::connect(Arc::clone(config), &self.address, stream).await;
                self.ask(stream.map_err(|error| self.tls_error(&error))?, request).await
            }
        }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        json: Option<String>,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.address.prefix()))
            .header(HOST, self.address.authority());
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if json.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        Ok(request.body(Full::new(Bytes::from(json.unwrap_or_default())))?)
    }

    async fn ask<S>(&self, stream: S, request: Request<Full<Bytes>>) -> Result<Answered, ClientError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| self.http_error(error, None))?;
        let answering = tokio::spawn(connection);
        let answer = match sender.send_request(request).await {
            Ok(answer) => answer,
            Err(error) => {
                // A server that refuses a client's certificate says so after the handshake: only the connection hears it.
                drop(sender);
                let of_connection = answering.await.ok().and_then(Result::err);
                return Err(self.http_error(error, of_connection));
            }
        };
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER_BYTES).collect().await;
        answering.abort();
        Ok(Answered { status, body: body.map_err(ClientError::of_body)?.to_bytes() })
    }

    fn tls_error(&self, error: &std::io::Error) -> ClientError {
        ClientError::of_handshake(&self.address, error)
    }

    fn http_error(&self, error: hyper::Error, of_connection: Option<hyper::Error>) -> ClientError {
        ClientError::of_http(&self.address, error, of_connection)
    }
}
