//! `POST /v1/keys/look` and `POST /v1/keys/reset`: inspection and reset of subjects.

use std::fmt::Write;

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use slidegate::policy::{HitMode, KeyText, ListMatch, Policy};
use slidegate::{Clock, GateError, Inspection, Request};

use super::reply::json;
use crate::protocols::json_body;
use crate::protocols::problem::{Problem, Reply};
use crate::protocols::rest::check::Attributes;
use crate::runtime::Runtime;
use crate::telemetry::audit::{ActionCompletion, AuditDetails};

/// Maximum number of rules in a message.
const MAX_NAMED: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'a: 'de"))]
struct KeysBody<'a> {
    rule: Option<String>,
    #[serde(borrow, default)]
    attributes: Attributes<'a>,
}

impl<'a> KeysBody<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, Problem> {
        let body: Self = json_body::parse(bytes)?;
        body.attributes.0.check().map_err(|error| Problem::bad_request(error.to_string()))?;
        Ok(body)
    }

    fn request(&self) -> &Request<'a> {
        &self.attributes.0
    }

    /// Text of the request, for the audit log.
    fn what(&self) -> String {
        let mut text = self.rule.as_ref().map_or_else(String::new, |rule| format!("rule={rule} "));
        for (name, value) in self.request().attributes() {
            write!(text, "{name}={value} ").expect("a string takes everything");
        }
        text.truncate(text.trim_end().len());
        text
    }
}

pub(super) async fn inspect<C: Clock>(runtime: &Runtime<C>, bytes: &[u8]) -> Result<Reply, Problem> {
    let body = KeysBody::read(bytes)?;
    let subjects: Vec<Value> = find(runtime, &body).await?.iter().map(render).collect();
    Ok(respond(runtime, &body, &subjects))
}

pub(super) async fn reset<C: Clock>(
    runtime: &Runtime<C>,
    bytes: &[u8],
    audit: &mut AuditDetails,
) -> Result<Reply, Problem> {
    let body = KeysBody::read(bytes)?;
    audit.what = Some(body.what());
    let before = find(runtime, &body).await?;
    audit.before = Some(before.iter().map(usage).collect::<Vec<_>>().join("; "));
    let forgotten = match runtime.gate().reset(body.rule.as_deref(), body.request()).await {
        // Subjects are reset one by one, and a response may be lost.
        Err(GateError::Store(error)) => {
            audit.completion = ActionCompletion::Unknown;
            let detail = format!(
                "the store did not respond: all, some or none of the subjects were reset; retry: {error}"
            );
            return Err(Problem::unanswered(detail));
        }
        forgotten => forgotten?,
    };
    audit.after = Some(match forgotten.len() {
        0 => "no subject found".to_owned(),
        1 => "1 subject reset".to_owned(),
        count => format!("{count} subjects reset"),
    });
    let subjects =
        forgotten.iter().map(|one| json!({ "rule": one.rule, "key": key(&one.key), "limits": one.limits }));
    Ok(respond(runtime, &body, &subjects.collect::<Vec<_>>()))
}

/// Subjects that the attributes name. An unknown rule is an error.
async fn find<C: Clock>(runtime: &Runtime<C>, body: &KeysBody<'_>) -> Result<Vec<Inspection>, Problem> {
    let rule = body.rule.as_deref();
    if let Some(name) = rule
        && !runtime.gate().policy().rules().iter().any(|rule| rule.name() == name)
    {
        let detail = format!("no rule named {name:?}; the rules are {}", names(&runtime.gate().policy()));
        return Err(Problem::new(StatusCode::NOT_FOUND, detail));
    }
    Ok(runtime.gate().inspect(rule, body.request()).await?)
}

fn respond<C: Clock>(runtime: &Runtime<C>, body: &KeysBody<'_>, subjects: &[Value]) -> Reply {
    let mut answer = json!({ "subjects": subjects });
    if subjects.is_empty() {
        answer["message"] = Value::from(nothing_found(&runtime.gate().policy(), body.rule.as_deref()));
    }
    json(StatusCode::OK, &answer)
}

/// Message that names the attributes of the keys.
fn nothing_found(policy: &Policy, rule: Option<&str>) -> String {
    let rules = policy.explain();
    let wanted = rules.iter().filter(|one| rule.is_none_or(|rule| one.name == rule));
    let keys: Vec<String> = wanted.take(MAX_NAMED).map(|one| format!("{} ({})", one.name, one.key)).collect();
    match (rule, keys.is_empty()) {
        (_, true) => "the policy has no rules".to_owned(),
        (Some(_), _) => format!("these attributes do not fill the key of the rule {}", keys.join(", ")),
        (None, _) => format!(
            "no rule has a key that these attributes fill; rules have keys: {}. A rule without a key is found by its name",
            keys.join(", ")
        ),
    }
}

fn names(policy: &Policy) -> String {
    let names: Vec<&str> = policy.rules().iter().take(MAX_NAMED).map(|rule| rule.name()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn render(one: &Inspection) -> Value {
    let limits = one.limits().map(|limit| {
        let mut value = json!({
            "limit": limit.text,
            "policy": limit.name,
            "quota": limit.limit.quota(),
            "window_ms": limit.limit.window_ms(),
            "used": limit.used,
            "remaining": limit.remaining,
            "retry_after_ms": limit.retry_after_ms,
            "reset_after_ms": limit.reset_after_ms,
        });
        if let Some(whole) = limit.share_of {
            value["share_of"] = whole.quota().into();
        }
        if let Some(ms) = limit.retry_after_at_most_ms {
            value["retry_after_at_most_ms"] = ms.into();
        }
        value
    });
    json!({
        "rule": one.rule(),
        "key": key(one.key()),
        "applies_to": one.applies_to(),
        "mode": match one.mode() {
            HitMode::Enforce => "enforced",
            HitMode::Observe => "observed",
        },
        "listed": one.listed().map(|listed| match listed {
            ListMatch::Allow => "allow",
            ListMatch::Deny => "deny",
        }),
        "source": one.source().name(),
        "looked_at_ms": one.looked_at_ms(),
        "limits": limits.collect::<Vec<_>>(),
    })
}

/// Key as JSON. Names are unique: parts without a name are numbered.
pub(crate) fn key(parts: &[KeyText]) -> Value {
    let members = parts.iter().map(|part| (part.attribute.clone(), Value::from(part.value.clone())));
    Value::Object(members.collect::<Map<_, _>>())
}

/// Usage of a subject, for the audit log: `login 5/min: 5 used`.
fn usage(one: &Inspection) -> String {
    let limits = one.limits().map(|limit| match limit.used {
        Some(used) => format!("{}: {used} used", limit.text),
        None => format!("{}: unknown", limit.text),
    });
    format!("{} {}", one.rule(), limits.collect::<Vec<_>>().join(", "))
}
