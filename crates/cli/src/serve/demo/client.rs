//! One connection over which the population asks.

use std::net::SocketAddr;

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// Why a call was not answered. What it is does not matter: the server ends, or will be there again.
type Unanswered = Box<dyn std::error::Error + Send + Sync>;

/// One connection, opened when it is needed.
pub(super) struct Caller {
    server: SocketAddr,
    bearer: Option<String>,
    open: Option<SendRequest<Full<Bytes>>>,
}

impl Caller {
    pub(super) fn new(server: SocketAddr, token: Option<&str>) -> Self {
        Self { server, bearer: token.map(|token| format!("Bearer {token}")), open: None }
    }

    /// Asks one after the other. After one that is not answered the others are not asked, and the next time begins with a new connection.
    pub(super) async fn ask(&mut self, calls: &[Value]) {
        for call in calls {
            if self.ask_one(call).await.is_err() {
                self.open = None;
                return;
            }
        }
    }

    async fn ask_one(&mut self, call: &Value) -> Result<(), Unanswered> {
        let mut open = match self.open.take().filter(|open| !open.is_closed()) {
            Some(open) => open,
            None => self.connect().await?,
        };
        let mut request = Request::post("/v1/check")
            .header(HOST, self.server.to_string())
            .header(CONTENT_TYPE, "application/json");
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer);
        }
        open.ready().await?;
        let answer = open.send_request(request.body(Full::from(call.to_string()))?).await?;
        // Until it was read nothing else can be asked.
        answer.into_body().collect().await?;
        self.open = Some(open);
        Ok(())
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Unanswered> {
        let stream = TcpStream::connect(self.server).await?;
        stream.set_nodelay(true)?;
        let (open, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // It ends when the other half is dropped.
        tokio::spawn(connection);
        Ok(open)
    }
}
