//! Routes of the check listener.

use hyper::Method;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use slidegate::Clock;

use super::{authorize, check, limit, openapi, rlaas, settle};
use crate::net::connections::{Phase, cost};
use crate::protocols::http::handler::{Handler, HttpConnection};
use crate::protocols::problem::{Problem, Reply};
use crate::protocols::{auth, health, request_id, rls};

/// Handler of the check listener.
pub(crate) struct CheckApi;

impl<C: Clock> Handler<C> for CheckApi {
    const COST: u32 = cost::REQUEST;

    async fn handle(
        &self,
        connection: &HttpConnection<C>,
        head: &Parts,
        body: Incoming,
        request_id: &HeaderValue,
    ) -> Reply {
        let id = request_id::text(request_id);
        route(connection, head, body, id).await.unwrap_or_else(Problem::into_reply)
    }
}

async fn route<C: Clock>(
    connection: &HttpConnection<C>,
    head: &Parts,
    body: Incoming,
    id: &str,
) -> Result<Reply, Problem> {
    let decider = &*connection.decider;
    let reads = matches!(head.method, Method::GET | Method::HEAD);
    let allow = match head.uri.path() {
        "/" if reads => return Ok(openapi::index()),
        "/openapi.json" if reads => return Ok(openapi::document()),
        "/livez" if reads => return Ok(health::live()),
        "/readyz" if reads => return health::ready(decider, head.uri.query()),
        "/" | "/openapi.json" | "/livez" | "/readyz" => "GET, HEAD",
        path => {
            auth::check(&head.headers, decider.settings().token.as_deref())
                .map_err(|failure| connection.unauthorized(failure))?;
            let posts = head.method == Method::POST;
            match path {
                "/v1/check" if posts => {
                    let body = connection.read(&head.headers, body).await?;
                    return check::check(decider, &body, id, connection.trace("POST /v1/check", head)).await;
                }
                "/v1/limit" if posts => {
                    let body = connection.read(&head.headers, body).await?;
                    return limit::limit(decider, &body, id, connection.trace("POST /v1/limit", head)).await;
                }
                "/v1/refund" if posts => {
                    return settle::refund(decider, &connection.read(&head.headers, body).await?).await;
                }
                "/v1/settle" if posts => {
                    return settle::settle(decider, &connection.read(&head.headers, body).await?).await;
                }
                "/json" if posts => {
                    // Its clients never had to send a content type.
                    let body = connection.read_any(&head.headers, body).await?;
                    let trace = connection.trace("POST /json", head);
                    // Boxed, because most requests are others.
                    return Box::pin(rls::json::should_rate_limit(decider, &body, id, trace)).await;
                }
                "/v1/check" | "/v1/limit" | "/v1/refund" | "/v1/settle" | "/json" => "POST",
                "/v1/authorize" => {
                    connection.progress.enter(Phase::Answering);
                    let trace = connection.trace("/v1/authorize", head);
                    return authorize::authorize(decider, connection.caller.peer, head, id, trace).await;
                }
                "/check" if reads => {
                    connection.progress.enter(Phase::Answering);
                    return rlaas::check(decider, head.uri.query(), id, connection.trace("GET /check", head))
                        .await;
                }
                "/check" => "GET, HEAD",
                _ => return Err(Problem::not_found(path)),
            }
        }
    };
    Err(Problem::method_not_allowed(allow))
}
