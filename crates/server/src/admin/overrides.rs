//! `/v1/overrides`: temporary overrides of rules, on all nodes.

use hyper::StatusCode;
use hyper::header::{HeaderValue, LOCATION};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use slidegate::Clock;
use slidegate::policy::TemporaryOverride;
use slidegate::policy::format::parse_duration;

use super::reply::json;
use crate::protocols::json_body;
use crate::protocols::problem::{Problem, Reply};
use crate::runtime::Runtime;
use crate::runtime::overrides::{NewOverride, OverrideError, OverrideRecord};
use crate::telemetry::audit::{ActionCompletion, AuditDetails};

/// Body of a new override. The override itself is parsed as in a policy file.
#[derive(Deserialize)]
struct OverrideBody {
    expires_in: String,
    #[serde(default)]
    reason: String,
    #[serde(flatten)]
    definition: Map<String, Value>,
}

pub(super) fn list<C: Clock>(runtime: &Runtime<C>) -> Reply {
    let overrides: Vec<Value> = runtime.overrides().iter().map(render).collect();
    json(StatusCode::OK, &json!({ "overrides": overrides }))
}

pub(super) async fn add<C: Clock>(
    runtime: &Runtime<C>,
    bytes: &[u8],
    audit: &mut AuditDetails,
) -> Result<Reply, Problem> {
    let OverrideBody { expires_in, reason, definition } = json_body::parse(bytes)?;
    audit.reason = Some(reason.clone()).filter(|reason| !reason.is_empty());
    let text = Value::Object(definition).to_string();
    audit.what = Some(format!("{text} for {expires_in}"));
    let expires_in_ms = parse_duration(&expires_in).map_err(|remedy| {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, format!("invalid expires_in {expires_in:?}: {remedy}"))
    })?;
    let expires_in_ms = expires_in_ms.as_millis() as u64;
    let definition = TemporaryOverride::parse(&text)
        .map_err(|errors| refused(&OverrideError::TemporaryOverride(errors), audit))?;
    audit.what = Some(format!("{definition} for {expires_in}"));
    let set = runtime.add_override(NewOverride { definition, expires_in_ms, reason }).await;
    let set = set.map_err(|error| refused(&error, audit))?;
    audit.after = Some(format!("override {}", set.id));
    let mut reply = json(StatusCode::CREATED, &render(&set));
    if let Ok(location) = HeaderValue::try_from(format!("/v1/overrides/{}", set.id)) {
        reply.headers_mut().insert(LOCATION, location);
    }
    Ok(reply)
}

pub(super) async fn remove<C: Clock>(
    runtime: &Runtime<C>,
    id: &str,
    audit: &mut AuditDetails,
) -> Result<Reply, Problem> {
    audit.what = Some(format!("override {id}"));
    let record = runtime.overrides().into_iter().find(|one| one.id == id);
    audit.before = record.and_then(|one| one.definition).map(|definition| definition.to_string());
    if runtime.remove_override(id).await.map_err(|error| refused(&error, audit))? {
        return Ok(json(StatusCode::OK, &json!({ "id": id, "removed": true })));
    }
    let detail = format!("no override {id:?}; GET /v1/overrides lists all");
    Err(Problem::new(StatusCode::NOT_FOUND, detail))
}

/// Override as JSON: `rule`, `when` and the effect, with its state.
fn render(one: &OverrideRecord) -> Value {
    let mut members = match one.definition.as_ref().map(|definition| serde_json::from_str(definition.text()))
    {
        Some(Ok(Value::Object(members))) => members,
        _ => Map::new(),
    };
    members.insert("id".to_owned(), json!(one.id));
    members.insert("text".to_owned(), json!(one.definition.as_ref().map(ToString::to_string)));
    members.insert("reason".to_owned(), json!(one.reason));
    members.insert("created_at_ms".to_owned(), json!(one.created_at_ms));
    members.insert("expires_at_ms".to_owned(), json!(one.expires_at_ms));
    members.insert("active".to_owned(), json!(one.active));
    members.insert("problem".to_owned(), json!(one.problem));
    Value::Object(members)
}

fn refused(error: &OverrideError, audit: &mut AuditDetails) -> Problem {
    match error {
        OverrideError::Store(_) => {
            audit.completion = ActionCompletion::Unknown;
            Problem::unanswered(error.to_string())
        }
        OverrideError::Full => Problem::new(StatusCode::CONFLICT, error.to_string()),
        _ => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()),
    }
}
