//! HTTP: bytes into requests, answers into bytes, and nothing else.

mod answer;
mod authorize;
mod body;
mod check;
mod client_address;
pub(crate) mod connection;
mod json;
mod limit;
mod number;
mod openapi;
mod problem;
mod query;
mod request_id;
mod rlaas;
mod settle;
mod token;
mod verdict;

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};
use slidegate::{Clock, GateError, Store};

use crate::app::App;
use crate::connections::{Phase, Progress};
use crate::store::Backend;
use problem::{Problem, Reply};
use request_id::{Ids, X_REQUEST_ID};

/// The largest body that is read.
pub const MAX_BODY_BYTES: usize = 64 << 10;

/// What the requests of one connection have in common.
pub(crate) struct Visit<C> {
    app: Arc<App<C>>,
    peer: IpAddr,
    ids: Ids,
    progress: Arc<Progress>,
}

/// Answers a request, whatever it is.
pub(crate) async fn answer<C: Clock>(visit: &Visit<C>, head: &Parts, body: Incoming) -> Reply {
    let reply = route(visit, head, body).await;
    let mut reply = reply.unwrap_or_else(Problem::into_reply);
    reply.headers_mut().insert(X_REQUEST_ID, visit.ids.of(&head.headers));
    visit.progress.enter(Phase::Idle);
    reply
}

async fn route<C: Clock>(visit: &Visit<C>, head: &Parts, body: Incoming) -> Result<Reply, Problem> {
    let app = &*visit.app;
    let reads = matches!(head.method, Method::GET | Method::HEAD);
    let allow = match head.uri.path() {
        "/" if reads => return Ok(openapi::index()),
        "/openapi.json" if reads => return Ok(openapi::document()),
        "/" | "/openapi.json" => "GET, HEAD",
        path => {
            token::check(&head.headers, app.http().token.as_deref())?;
            let posts = head.method == Method::POST;
            match path {
                "/v1/check" if posts => {
                    return check::check(app, &visit.read(&head.headers, body).await?).await;
                }
                "/v1/limit" if posts => {
                    return limit::limit(app, &visit.read(&head.headers, body).await?).await;
                }
                "/v1/refund" if posts => {
                    return settle::refund(app, &visit.read(&head.headers, body).await?).await;
                }
                "/v1/settle" if posts => {
                    return settle::settle(app, &visit.read(&head.headers, body).await?).await;
                }
                "/v1/check" | "/v1/limit" | "/v1/refund" | "/v1/settle" => "POST",
                "/v1/authorize" => {
                    visit.progress.enter(Phase::Answering);
                    return authorize::authorize(app, visit.peer, head).await;
                }
                "/check" if reads => {
                    visit.progress.enter(Phase::Answering);
                    return rlaas::check(app, head.uri.query()).await;
                }
                "/check" => "GET, HEAD",
                _ => return Err(Problem::not_found(path)),
            }
        }
    };
    Err(Problem::method_not_allowed(allow))
}

impl<C> Visit<C> {
    async fn read(&self, headers: &HeaderMap, body: Incoming) -> Result<Bytes, Problem> {
        self.progress.enter(Phase::Body);
        let bytes = body::read(headers, body, MAX_BODY_BYTES).await;
        self.progress.enter(Phase::Answering);
        bytes
    }
}

impl From<GateError<<Backend as Store>::Error>> for Problem {
    fn from(error: GateError<<Backend as Store>::Error>) -> Self {
        match error {
            GateError::Request(error) => Problem::bad_request(error.to_string()),
            GateError::Conflict => Problem::new(hyper::StatusCode::CONFLICT, error.to_string()),
            GateError::Store(error) => Problem::store(&error),
        }
    }
}
