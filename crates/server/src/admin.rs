//! What operators ask: health, metrics, keys, overrides, the policy. A file per address.

pub(crate) mod auth;
pub(crate) mod console;
pub(crate) mod events;
pub(crate) mod keys;
pub(crate) mod openapi;
pub(crate) mod overrides;
pub(crate) mod policy;
pub(crate) mod reload;
pub(crate) mod status;

use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use slidegate::Clock;

use crate::protocols::health;
use crate::protocols::http::Visit;
use crate::protocols::problem::{Problem, Reply, reply};
use crate::runtime::metrics;
use crate::telemetry::audit::{Action, Line, Told};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Answers a request of an operator, whatever it is. What changes something leaves a line in the audit log, whatever came of it.
pub(crate) async fn answer<C: Clock + 'static>(
    visit: &Visit<C>,
    head: &Parts,
    body: Incoming,
    request_id: &HeaderValue,
) -> Reply {
    let mut line = Action::of(&head.method, head.uri.path()).map(|action| Line {
        refusals: visit.app.refusals(),
        action,
        peer: visit.peer,
        certificate: visit.certificate,
        request_id: String::from_utf8_lossy(request_id.as_bytes()).into_owned(),
        told: Told::default(),
        status: None,
    });
    let mut nothing = Told::default();
    let told = line.as_mut().map_or(&mut nothing, |line| &mut line.told);
    let reply = route(visit, head, body, told).await.unwrap_or_else(|problem| {
        told.after.get_or_insert_with(|| problem.detail().to_owned());
        problem.into_reply()
    });
    if let Some(line) = &mut line {
        line.status = Some(reply.status());
    }
    reply
}

async fn route<C: Clock + 'static>(
    visit: &Visit<C>,
    head: &Parts,
    body: Incoming,
    told: &mut Told,
) -> Result<Reply, Problem> {
    let app = &visit.app;
    let path = head.uri.path();
    let reads = matches!(head.method, Method::GET | Method::HEAD);
    if let Some(file) = reads.then(|| console::file(path, &head.headers)).flatten() {
        return Ok(file);
    }
    match path {
        "/livez" if reads => return Ok(health::live()),
        "/readyz" if reads => return health::ready(app, head.uri.query()),
        _ => auth::check(&app.settings().server, app.admin_address(), head).map_err(|refusal| {
            told.unauthenticated = true;
            match refusal {
                auth::Refusal::Token(failure) => visit.unauthorized(failure),
                auth::Refusal::Other(problem) => problem,
            }
        })?,
    }
    let posts = head.method == Method::POST;
    let allow = match path {
        "/openapi.json" if reads => return Ok(openapi::document()),
        "/metrics" if reads => return Ok(metrics::reply(app, &head.headers)),
        "/v1/status" if reads => return Ok(status::status(app)),
        "/v1/events" if reads => return events::reply(visit),
        "/v1/top" if reads => return events::top(app, head.uri.query()),
        "/v1/policy" if reads => return Ok(policy::policy(app)),
        "/v1/overrides" if reads => return Ok(overrides::list(app)),
        "/v1/overrides" if posts => {
            return overrides::add(app, &visit.read(&head.headers, body).await?, told).await;
        }
        "/v1/overrides" => "GET, HEAD, POST",
        "/v1/keys/look" if posts => {
            return keys::look(app, &visit.read(&head.headers, body).await?).await;
        }
        "/v1/keys/reset" if posts => {
            return keys::reset(app, &visit.read(&head.headers, body).await?, told).await;
        }
        "/v1/reload" if posts => {
            return reload::reload(app, &visit.read(&head.headers, body).await?, told).await;
        }
        "/v1/keys/look" | "/v1/keys/reset" | "/v1/reload" => "POST",
        "/openapi.json" | "/livez" | "/readyz" | "/metrics" => "GET, HEAD",
        "/v1/status" | "/v1/events" | "/v1/top" | "/v1/policy" => "GET, HEAD",
        path if console::has(path) => "GET, HEAD",
        path => match path.strip_prefix("/v1/overrides/") {
            Some(id) if head.method == Method::DELETE => return overrides::remove(app, id, told).await,
            Some(_) => "DELETE",
            None => return Err(Problem::not_found(path)),
        },
    };
    Err(Problem::method_not_allowed(allow))
}

/// An answer in JSON.
pub(crate) fn json(status: StatusCode, body: &serde_json::Value) -> Reply {
    reply(status, JSON, body.to_string())
}
