//! A collector: takes what is sent to it over HTTP, and answers as a test says.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use parking_lot::Mutex;
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How a message is answered.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Status(u16, &'static [(&'static str, &'static str)]),
    /// Taken, with this to say.
    Accepted(Bytes),
    /// Not at all.
    Silence,
}

pub(crate) struct Collector {
    pub(crate) address: SocketAddr,
    received: UnboundedReceiver<Received>,
    serving: JoinHandle<()>,
}

/// A message, as it came.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// What is answered to spans, in this order, and then to all others.
type Answers = Arc<Mutex<(VecDeque<Answer>, Answer)>>;

impl Collector {
    /// Takes everything.
    pub(crate) async fn start() -> Self {
        Self::answering([], Answer::Accepted(Bytes::new())).await
    }

    pub(crate) async fn answering(first: impl Into<VecDeque<Answer>>, then: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (sender, received) = unbounded_channel();
        let answers = Arc::new(Mutex::new((first.into(), then)));
        Self { address, received, serving: tokio::spawn(serve(listener, sender, answers)) }
    }

    /// The block of a policy that sends everything here.
    pub(crate) fn setting(&self, traces: &str) -> String {
        setting(self.address, traces)
    }

    /// The next message of any kind.
    pub(crate) async fn next(&mut self) -> Received {
        let next = timeout(Duration::from_secs(60), self.received.recv()).await;
        next.expect("a message in time").expect("a message")
    }

    /// All that came, once nobody sends any more.
    pub(crate) fn all(mut self) -> Vec<Received> {
        self.serving.abort();
        let mut all = Vec::new();
        while let Ok(one) = self.received.try_recv() {
            all.push(one);
        }
        all
    }
}

pub(crate) fn setting(address: SocketAddr, traces: &str) -> String {
    // The last numbers are sent at the end, so no test waits for the others.
    format!("observe: {{ otlp: {{ endpoint: 'http://{address}', traces: {traces}, metrics_every: 1h }} }}")
}

async fn serve(listener: TcpListener, sender: UnboundedSender<Received>, answers: Answers) {
    while let Ok((stream, _)) = listener.accept().await {
        let (sender, answers) = (sender.clone(), Arc::clone(&answers));
        let service = service_fn(move |request| answer(request, sender.clone(), Arc::clone(&answers)));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(
    request: Request<Incoming>,
    sender: UnboundedSender<Received>,
    answers: Answers,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (Parts { uri, headers, .. }, body) = request.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    let path = uri.path().to_owned();
    let answer = {
        let (first, then) = &mut *answers.lock();
        let scripted = if path == "/v1/traces" { first.pop_front() } else { None };
        scripted.unwrap_or_else(|| then.clone())
    };
    // The test may be over.
    let _gone = sender.send(Received { path, headers, body });
    let mut response = Response::new(Full::default());
    match answer {
        Answer::Silence => std::future::pending().await,
        Answer::Accepted(body) => *response.body_mut() = Full::new(body),
        Answer::Status(status, headers) => {
            *response.status_mut() = status.try_into().expect("a status");
            for (name, value) in headers {
                response.headers_mut().insert(*name, value.parse().expect("a value"));
            }
        }
    }
    Ok(response)
}

impl Received {
    pub(crate) fn traces(&self) -> Option<ExportTraceServiceRequest> {
        (self.path == "/v1/traces").then(|| Message::decode(self.body.clone()).expect("spans"))
    }

    pub(crate) fn metrics(&self) -> Option<ExportMetricsServiceRequest> {
        (self.path == "/v1/metrics").then(|| Message::decode(self.body.clone()).expect("metrics"))
    }
}
