//! Proxy in front of an LLM API that limits tokens per API key.
//!
//! How many tokens an answer takes is known when it ends. So a request reserves an estimate, and the
//! proxy settles what the upstream reports as `usage`, in the last event of a stream.

mod usage;

use std::env;
use std::error::Error;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Router, serve};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use slidegate::tower::{ChargeHandle, RateLimitLayer};
use slidegate::{Gate, Memory, Policy};
use tokio::net::TcpListener;

use crate::usage::UsageReader;

/// Bytes of a prompt that take about one token.
const BYTES_PER_TOKEN: u64 = 4;
/// Tokens of most answers. What an answer takes beyond the estimate counts too, afterwards.
const ANSWER_TOKENS: u64 = 500;

/// LLM API behind the proxy.
struct Upstream {
    url: String,
    client: Client<HttpConnector, Body>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let setting = |name: &str, default: &str| env::var(name).unwrap_or_else(|_| default.to_owned());
    let gate = Gate::new(Policy::load(setting("POLICY", "policy.yaml"))?, Memory::default());
    let limits =
        RateLimitLayer::new(Arc::new(gate)).attribute("api_key", AUTHORIZATION.as_str()).cost_with(estimate);
    let upstream = Upstream {
        url: setting("UPSTREAM", "http://127.0.0.1:8000"),
        client: Client::builder(TokioExecutor::new()).build_http(),
    };

    let app = Router::new()
        .route("/v1/chat/completions", post(complete))
        .with_state(Arc::new(upstream))
        .layer(limits);
    let listener = TcpListener::bind(setting("LISTEN", "127.0.0.1:3000")).await?;
    println!("listening on http://{}\nPress Ctrl-C to stop.", listener.local_addr()?);
    serve(listener, app).await?;
    Ok(())
}

/// Estimate of the tokens of a request and its answer.
fn estimate(parts: &Parts) -> u64 {
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let prompt_bytes: u64 = length.and_then(|text| text.parse().ok()).unwrap_or(0);
    ANSWER_TOKENS.saturating_add(prompt_bytes / BYTES_PER_TOKEN)
}

/// Passes a request on, and settles what its answer took. Without a report, as when the client goes
/// away, the estimate stands.
async fn complete(
    State(upstream): State<Arc<Upstream>>,
    Extension(charged): Extension<ChargeHandle>,
    request: Request,
) -> Response<Body> {
    let answer = match upstream.send(request).await {
        Ok(answer) => answer,
        Err(error) => {
            charged.settle(0);
            return (StatusCode::BAD_GATEWAY, format!("{error}\n")).into_response();
        }
    };
    if !answer.status().is_success() {
        charged.settle(0);
    }
    let kind = answer.headers().get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let mut usage = UsageReader::new(kind);
    answer.map(|body| {
        Body::new(body.map_frame(move |frame| {
            if let Some(tokens) = frame.data_ref().and_then(|data| usage.read(data)) {
                charged.settle(tokens);
            }
            frame
        }))
    })
}

impl Upstream {
    async fn send(&self, request: Request) -> Result<Response<Body>, Box<dyn Error + Send + Sync>> {
        let (parts, body) = request.into_parts();
        let mut request = Request::post(format!("{}{}", self.url, parts.uri.path()));
        for name in [AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE] {
            if let Some(value) = parts.headers.get(&name) {
                request = request.header(name, value);
            }
        }
        Ok(self.client.request(request.body(body)?).await?.map(Body::new))
    }
}
