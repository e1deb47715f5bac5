//! Routes of the admin listener.

use std::sync::Arc;

use hyper::Method;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use slidegate::Clock;

use super::events::Events;
use super::{auth, console, events, keys, metrics, openapi, overrides, policy, reload, status};
use crate::net::connections::cost;
use crate::protocols::health;
use crate::protocols::http::handler::{Handler, HttpConnection};
use crate::protocols::problem::{Problem, Reply};
use crate::runtime::Runtime;
use crate::telemetry::audit::{Action, AuditDetails, AuditLine};

/// Handler of the admin listener.
pub(crate) struct AdminApi<C> {
    runtime: Arc<Runtime<C>>,
    events: Arc<Events>,
}

impl<C: Clock> AdminApi<C> {
    pub(crate) fn new(runtime: Arc<Runtime<C>>, events: Arc<Events>) -> Self {
        Self { runtime, events }
    }
}

/// Every request that changes something leaves a line in the audit log, whatever its outcome.
impl<C: Clock + 'static> Handler<C> for AdminApi<C> {
    const COST: u32 = cost::ADMIN_REQUEST;

    async fn handle(
        &self,
        connection: &HttpConnection<C>,
        head: &Parts,
        body: Incoming,
        request_id: &HeaderValue,
    ) -> Reply {
        let mut line = Action::of(&head.method, head.uri.path()).map(|action| AuditLine {
            budget: &self.runtime.audit_budget,
            action,
            peer: connection.caller.peer,
            certificate: connection.caller.certificate,
            request_id: String::from_utf8_lossy(request_id.as_bytes()).into_owned(),
            details: AuditDetails::default(),
            status: None,
        });
        let mut unlogged = AuditDetails::default();
        let audit = line.as_mut().map_or(&mut unlogged, |line| &mut line.details);
        let reply = route(self, connection, head, body, audit).await.unwrap_or_else(|problem| {
            audit.after.get_or_insert_with(|| problem.detail().to_owned());
            problem.into_reply()
        });
        if let Some(line) = &mut line {
            line.status = Some(reply.status());
        }
        reply
    }
}

async fn route<C: Clock + 'static>(
    admin: &AdminApi<C>,
    connection: &HttpConnection<C>,
    head: &Parts,
    body: Incoming,
    audit: &mut AuditDetails,
) -> Result<Reply, Problem> {
    let runtime = &admin.runtime;
    let path = head.uri.path();
    let reads = matches!(head.method, Method::GET | Method::HEAD);
    if let Some(file) = reads.then(|| console::file(path, &head.headers)).flatten() {
        return Ok(file);
    }
    match path {
        "/livez" if reads => return Ok(health::live()),
        "/readyz" if reads => return health::ready(runtime.decider(), head.uri.query()),
        _ => auth::check(&runtime.settings().server, runtime.admin_address(), head).map_err(|refusal| {
            audit.unauthenticated = true;
            match refusal {
                auth::AuthRefusal::Token(failure) => connection.unauthorized(failure),
                auth::AuthRefusal::Other(problem) => problem,
            }
        })?,
    }
    let posts = head.method == Method::POST;
    let allow = match path {
        "/openapi.json" if reads => return Ok(openapi::document()),
        "/metrics" if reads => return Ok(metrics::metrics(runtime, &head.headers)),
        "/v1/status" if reads => return Ok(status::status(runtime)),
        "/v1/events" if reads => return events::reply(&admin.events, runtime, connection),
        "/v1/top" if reads => return events::top(runtime, head.uri.query()),
        "/v1/policy" if reads => return Ok(policy::policy(runtime)),
        "/v1/overrides" if reads => return Ok(overrides::list(runtime)),
        "/v1/overrides" if posts => {
            return overrides::add(runtime, &connection.read(&head.headers, body).await?, audit).await;
        }
        "/v1/overrides" => "GET, HEAD, POST",
        "/v1/keys/look" if posts => {
            return keys::inspect(runtime, &connection.read(&head.headers, body).await?).await;
        }
        "/v1/keys/reset" if posts => {
            return keys::reset(runtime, &connection.read(&head.headers, body).await?, audit).await;
        }
        "/v1/reload" if posts => {
            return reload::reload(runtime, &connection.read(&head.headers, body).await?, audit).await;
        }
        "/v1/keys/look" | "/v1/keys/reset" | "/v1/reload" => "POST",
        "/openapi.json" | "/livez" | "/readyz" | "/metrics" => "GET, HEAD",
        "/v1/status" | "/v1/events" | "/v1/top" | "/v1/policy" => "GET, HEAD",
        path if console::has(path) => "GET, HEAD",
        path => match path.strip_prefix("/v1/overrides/") {
            Some(id) if head.method == Method::DELETE => return overrides::remove(runtime, id, audit).await,
            Some(_) => "DELETE",
            None => return Err(Problem::not_found(path)),
        },
    };
    Err(Problem::method_not_allowed(allow))
}
