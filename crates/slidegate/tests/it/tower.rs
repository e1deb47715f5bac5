//! The tower layer in axum, hyper and tonic services.

mod adaptive;
mod charges;
pub(crate) mod endings;
#[cfg(feature = "redis")]
mod failures;
mod grpc;
mod hyper_server;
mod peers;
mod readme;
pub(crate) mod ready;
#[cfg(feature = "redis")]
mod recording;
mod requests;

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::connect_info::MockConnectInfo;
use axum::http::{Request, Response};
use http_body_util::BodyExt;
use tower::ServiceExt;

/// Router whose requests come from this address.
fn from_peer(router: Router, peer: &str) -> Router {
    let peer: SocketAddr = format!("{peer}:40000").parse().expect("an address");
    router.layer(MockConnectInfo(peer))
}

async fn send(router: &Router, request: Request<Body>) -> Response<Body> {
    router.clone().oneshot(request).await.expect("errors are responses")
}

async fn get(router: &Router, path: &str) -> Response<Body> {
    send(router, Request::get(path).body(Body::empty()).expect("a request")).await
}

async fn text(response: Response<Body>) -> String {
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn header<'r, B>(response: &'r Response<B>, name: &str) -> &'r str {
    response.headers().get(name).map_or("", |value| value.to_str().expect("text"))
}
