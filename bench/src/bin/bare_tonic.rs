//! Cost of a unary call with an empty handler: takes Envoy's message and answers with a constant
//! one.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::sync::Arc;
use std::task::{Context, Poll};

use slidegate_bench::grpc::messages::{OK, PATH, RateLimitRequest, RateLimitResponse, SERVICE, Status};
use tonic::codegen::{Body, BoxFuture, Service, StdError, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic_prost::ProstCodec;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().and_then(|address| address.parse().ok());
    let answer = match arguments.next().as_deref() {
        Some("short") => short(),
        Some("long") => RateLimitResponse::admitted(),
        _ => panic!("usage: bare_tonic ADDRESS short|long"),
    };
    let server =
        tonic::transport::Server::builder().tcp_nodelay(true).add_service(Bare { answer: Arc::new(answer) });
    server.serve(address.expect("an address")).await.expect("it serves until it is killed");
}

/// Shortest response.
fn short() -> RateLimitResponse {
    let statuses = vec![Status { code: OK, ..Status::default() }];
    RateLimitResponse { overall_code: OK, statuses, response_headers_to_add: Vec::new() }
}

#[derive(Clone)]
struct Bare {
    answer: Arc<RateLimitResponse>,
}

impl NamedService for Bare {
    const NAME: &'static str = SERVICE;
}

impl UnaryService<RateLimitRequest> for Bare {
    type Response = RateLimitResponse;
    type Future = Ready<Result<tonic::Response<RateLimitResponse>, tonic::Status>>;

    fn call(&mut self, request: tonic::Request<RateLimitRequest>) -> Self::Future {
        black_box(request);
        ready(Ok(tonic::Response::new(RateLimitResponse::clone(&self.answer))))
    }
}

/// Service as tonic generates it.
impl<B> Service<http::Request<B>> for Bare
where
    B: Body + Send + 'static,
    B::Error: Into<StdError> + Send + 'static,
{
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        assert_eq!(request.uri().path(), PATH, "nothing else is asked");
        let method = self.clone();
        Box::pin(async move { Ok(Grpc::new(ProstCodec::default()).unary(method, request).await) })
    }
}
