//! HTTP/1.1 client that sends exact bytes.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpSocket, TcpStream};

use crate::http::document::Document;

/// One connection.
pub(crate) struct Client {
    stream: BufStream<TcpStream>,
    document: Option<Arc<Document>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    /// OpenAPI document that every response is checked against, if there is one.
    pub(crate) async fn connect(address: SocketAddr, document: Option<Arc<Document>>) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        Self::over(stream, document)
    }

    /// The same from another address of this machine: all of 127.0.0.0/8 is.
    pub(crate) async fn connect_from(from: [u8; 4], address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from((from, 0))).expect("an address of this machine");
        Self::over(socket.connect(address).await.expect("a connection"), None)
    }

    fn over(stream: TcpStream, document: Option<Arc<Document>>) -> Self {
        stream.set_nodelay(true).expect("a socket");
        Self { stream: BufStream::new(stream), document }
    }

    pub(crate) async fn post(&mut self, target: &str, body: &Value) -> Response {
        let body = body.to_string();
        self.send("POST", target, &[("content-type", "application/json")], body.as_bytes()).await
    }

    pub(crate) async fn get(&mut self, target: &str, headers: &[(&str, &str)]) -> Response {
        self.send("GET", target, headers, b"").await
    }

    pub(crate) async fn send(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        self.write(&bytes_of(method, target, headers, body)).await;
        self.receive(method, target).await
    }

    /// The bytes of whatever it is.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.try_write(bytes).await.expect("a connection that takes bytes");
    }

    pub(crate) async fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// The answer to a request that was written.
    pub(crate) async fn receive(&mut self, method: &str, target: &str) -> Response {
        let response = self.read(method).await;
        if let Some(document) = &self.document {
            document.check(method, target, &response);
        }
        response
    }

    async fn read(&mut self, method: &str) -> Response {
        let status_line = self.line().await;
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut response =
            Response { status: status.expect("a status"), headers: Vec::new(), body: Vec::new() };
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(": ") else { break };
            response.headers.push((name.to_owned(), value.to_owned()));
        }
        let length = response.header("content-length").map_or(0, |length| length.parse().expect("a length"));
        if method != "HEAD" {
            response.body.resize(length, 0);
            self.stream.read_exact(&mut response.body).await.expect("a body");
        }
        response
    }

    /// The next chunk of an answer that goes on; empty at its end.
    pub(crate) async fn chunk(&mut self) -> Vec<u8> {
        let length = usize::from_str_radix(&self.line().await, 16).expect("the length of a chunk");
        let mut chunk = vec![0; length + 2];
        self.stream.read_exact(&mut chunk).await.expect("a chunk");
        chunk.truncate(length);
        chunk
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.expect("a line");
        line.trim_end().to_owned()
    }

    /// Whether the other side ends the connection, with nothing more to say.
    pub(crate) async fn is_ended(&mut self) -> bool {
        let mut rest = Vec::new();
        // A reset is an end too.
        let _reset = self.stream.read_to_end(&mut rest).await;
        rest.is_empty()
    }
}

/// A request with the length of its body.
pub(crate) fn bytes_of(method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("{method} {target} HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
    if headers.iter().all(|(name, _)| *name != "host") {
        head.push_str("host: test\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    [head.as_bytes(), b"\r\n", body].concat()
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// A member of the body, by its path.
    pub(crate) fn at(&self, pointer: &str) -> Value {
        self.json().pointer(pointer).cloned().unwrap_or_else(|| panic!("no {pointer} in {}", self.json()))
    }

    pub(crate) fn detail(&self) -> String {
        self.at("/detail").as_str().expect("a text").to_owned()
    }
}
