//! gRPC client that sends exact messages over a real HTTP/2 connection.

use std::future::poll_fn;
use std::net::SocketAddr;

use bytes::{BufMut, Bytes, BytesMut};
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use hyper::{HeaderMap, Request};
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tonic::{Code, Status};

use crate::grpc::proto::{Entry, RateLimitDescriptor, RateLimitRequest};

pub(crate) const LIMIT: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// One connection.
pub(crate) struct Client {
    requests: SendRequest<Bytes>,
    /// How it ended.
    pub(crate) driver: JoinHandle<Result<(), h2::Error>>,
}

/// A call that is under way.
pub(crate) struct Call {
    pub(crate) response: ResponseFuture,
    pub(crate) body: SendStream<Bytes>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) http: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) data: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

/// A message with the bytes that come before it.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(message.len().try_into().expect("a length"));
    framed.put_slice(message);
    framed.freeze()
}

/// One descriptor with one entry.
pub(crate) fn request(user: &str) -> RateLimitRequest {
    let entries = vec![Entry { key: "user".to_owned(), value: user.into() }];
    let descriptors = vec![RateLimitDescriptor { entries, ..RateLimitDescriptor::default() }];
    RateLimitRequest { domain: "test".to_owned(), descriptors, hits_addend: 0 }
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).await.expect("a connection")).await
    }

    /// From another address of this machine: all of 127.0.0.0/8 is.
    pub(crate) async fn connect_from(from: [u8; 4], address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from((from, 0))).expect("an address of this machine");
        Self::over(socket.connect(address).await.expect("a connection")).await
    }

    pub(crate) async fn over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Self {
        let (requests, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
        Self { requests, driver: tokio::spawn(connection) }
    }

    /// Sends the head of a call.
    pub(crate) async fn begin(&mut self, path: &str, headers: &[(&str, &str)]) -> Result<Call, h2::Error> {
        let mut request = Request::post(format!("http://test{path}"));
        if headers.iter().all(|(name, _)| *name != "content-type") {
            request = request.header("content-type", "application/grpc");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut ready = self.requests.clone().ready().await?;
        let (response, body) = ready.send_request(request.body(()).expect("a request"), false)?;
        Ok(Call { response, body })
    }

    /// A call with all of its bytes, framed or not.
    pub(crate) async fn call(&mut self, path: &str, headers: &[(&str, &str)], body: Bytes) -> Reply {
        let mut call = self.begin(path, headers).await.expect("a call");
        // It may be answered before it has sent everything.
        let _cut = call.body.send_data(body, true);
        call.reply().await.expect("an answer")
    }

    /// A call of the service that does what it is for.
    pub(crate) async fn limit(&mut self, user: &str) -> Reply {
        self.call(LIMIT, &[], framed(&request(user).encode_to_vec())).await
    }

    /// Waits until the other side has ended the connection; whether it went as it should.
    pub(crate) async fn ended_well(self) -> bool {
        self.driver.await.expect("a driver").is_ok()
    }
}

impl Call {
    pub(crate) async fn reply(self) -> Result<Reply, h2::Error> {
        let (head, mut body) = self.response.await?.into_parts();
        let mut data = BytesMut::new();
        while let Some(more) = next(&mut body).await? {
            data.extend_from_slice(&more);
        }
        let trailers = body.trailers().await?;
        Ok(Reply { http: head.status.as_u16(), headers: head.headers, data: data.freeze(), trailers })
    }
}

/// The next bytes of an answer.
pub(crate) async fn next(body: &mut RecvStream) -> Result<Option<Bytes>, h2::Error> {
    let data = poll_fn(|context| body.poll_data(context)).await.transpose()?;
    if let Some(data) = &data {
        body.flow_control().release_capacity(data.len())?;
    }
    Ok(data)
}

impl Reply {
    fn status(&self) -> Status {
        let at_the_end = self.trailers.as_ref().unwrap_or(&self.headers);
        Status::from_header_map(at_the_end).unwrap_or_else(|| panic!("no status: {self:?}"))
    }

    pub(crate) fn code(&self) -> Code {
        self.status().code()
    }

    pub(crate) fn text(&self) -> String {
        self.status().message().to_owned()
    }
}
