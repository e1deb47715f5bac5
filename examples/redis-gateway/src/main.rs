//! Gateway in front of an HTTP service. Any number of them share their limits over Redis.

use std::env;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Router, serve};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use slidegate::store::redis::RedisConfig;
use slidegate::tower::RateLimitLayer;
use slidegate::{Fallback, Gate, Policy, Redis};
use tokio::net::TcpListener;

/// Headers that concern one connection.
const HOP_BY_HOP: [HeaderName; 5] = [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// Service behind the gateway.
#[derive(Clone)]
struct Upstream {
    authority: Authority,
    client: Client<HttpConnector, Body>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let setting = |name: &str, default: &str| env::var(name).unwrap_or_else(|_| default.to_owned());
    let policy = Policy::load(setting("POLICY", "policy.yaml"))?;
    let timeout = Duration::from_millis(setting("REDIS_TIMEOUT_MS", "50").parse()?);
    let redis = RedisConfig::parse(&setting("REDIS", "redis://127.0.0.1:6379"))?.timeout(timeout);
    // The number of gateways. While Redis does not answer, each enforces its share of a quota.
    let gateways = setting("GATEWAYS", "2").parse()?;
    let gate = Gate::new(policy, Fallback::new(Redis::new(&redis), gateways));
    let upstream = Upstream {
        authority: setting("UPSTREAM", "127.0.0.1:8000").parse()?,
        client: Client::builder(TokioExecutor::new()).build_http(),
    };

    let app = Router::new()
        .fallback(forward)
        .with_state(upstream)
        .layer(RateLimitLayer::new(Arc::new(gate)))
        .into_make_service_with_connect_info::<SocketAddr>();
    let listener = TcpListener::bind(setting("LISTEN", "127.0.0.1:3000")).await?;
    println!("listening on http://{}\nPress Ctrl-C to stop.", listener.local_addr()?);
    serve(listener, app).await?;
    Ok(())
}

/// Passes a request on. Only requests that were admitted come here.
async fn forward(State(upstream): State<Upstream>, mut request: Request) -> Response {
    let mut uri = std::mem::take(request.uri_mut()).into_parts();
    uri.scheme = Some(Scheme::HTTP);
    uri.authority = Some(upstream.authority.clone());
    let (Ok(uri), Ok(host)) = (Uri::from_parts(uri), HeaderValue::from_str(upstream.authority.as_str()))
    else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    *request.uri_mut() = uri;
    remove_hop_by_hop(request.headers_mut());
    request.headers_mut().insert(HOST, host);
    match upstream.client.request(request).await {
        Ok(mut response) => {
            remove_hop_by_hop(response.headers_mut());
            response.map(Body::new)
        }
        Err(error) => (StatusCode::BAD_GATEWAY, format!("{error}\n")).into_response(),
    }
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}
