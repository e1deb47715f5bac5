//! Client of the demo: one HTTP connection.

use std::net::SocketAddr;

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// Failure of a request. Its kind does not matter: the server is stopping, or will be reachable
/// again.
type DemoError = Box<dyn std::error::Error + Send + Sync>;

/// Client with one connection, which it opens when it needs it.
pub(super) struct DemoClient {
    server: SocketAddr,
    bearer: Option<String>,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl DemoClient {
    pub(super) fn new(server: SocketAddr, token: Option<&str>) -> Self {
        Self { server, bearer: token.map(|token| format!("Bearer {token}")), connection: None }
    }

    /// Sends bodies of `POST /v1/check` one after the other. After a failure it skips the rest, and
    /// the next call reconnects.
    pub(super) async fn send_all(&mut self, bodies: &[Value]) {
        for body in bodies {
            if self.send(body).await.is_err() {
                self.connection = None;
                return;
            }
        }
    }

    async fn send(&mut self, body: &Value) -> Result<(), DemoError> {
        let mut connection = match self.connection.take().filter(|connection| !connection.is_closed()) {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let mut request = Request::post("/v1/check")
            .header(HOST, self.server.to_string())
            .header(CONTENT_TYPE, "application/json");
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer);
        }
        connection.ready().await?;
        let response = connection.send_request(request.body(Full::from(body.to_string()))?).await?;
        // The next request has to wait for the end of this response.
        response.into_body().collect().await?;
        self.connection = Some(connection);
        Ok(())
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, DemoError> {
        let stream = TcpStream::connect(self.server).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // The task ends when the sender is dropped.
        tokio::spawn(connection);
        Ok(sender)
    }
}
