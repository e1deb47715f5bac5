//! `POST /v1/check`: decides a request, given by its attributes, by the rules of the policy.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use slidegate::{CheckRequest, Clock, MAX_ATTRIBUTES, Request};

use super::answer;
use super::number::whole;
use crate::protocols::json_body;
use crate::protocols::problem::{Problem, Reply};
use crate::runtime::decider::Decider;
use crate::telemetry::otlp::Trace;

const MAX_IDEMPOTENCY_KEY_BYTES: usize = 255;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'a: 'de"))]
struct CheckBody<'a> {
    #[serde(borrow)]
    attributes: Attributes<'a>,
    #[serde(default = "one", deserialize_with = "whole")]
    cost: u64,
    #[serde(borrow, default, deserialize_with = "some_text")]
    idempotency_key: Option<JsonText<'a>>,
    #[serde(default, deserialize_with = "whole")]
    wait_ms: u64,
}

pub(crate) fn one() -> u64 {
    1
}

pub(crate) async fn check<C: Clock>(
    decider: &Decider<C>,
    bytes: &[u8],
    id: &str,
    trace: Trace,
) -> Result<Reply, Problem> {
    let mut check_request = read(bytes, decider.settings().max_wait)?;
    check_request.request.set_id(id);
    let answer = decider.check(&check_request, trace).await?;
    Ok(answer::reply(decider, &answer))
}

fn read(bytes: &[u8], max_wait: Duration) -> Result<CheckRequest<'_>, Problem> {
    let CheckBody { attributes: Attributes(request), cost, idempotency_key, wait_ms } =
        json_body::parse(bytes)?;
    request.check().map_err(|error| Problem::bad_request(error.to_string()))?;
    let max_wait_ms = max_wait.as_millis();
    if u128::from(wait_ms) > max_wait_ms {
        return Err(Problem::bad_request(format!("wait_ms is at most {max_wait_ms}, not {wait_ms}")));
    }
    let idempotency_key = idempotency_key.map(|JsonText(key)| key);
    if idempotency_key.as_ref().is_some_and(|key| key.is_empty() || key.len() > MAX_IDEMPOTENCY_KEY_BYTES) {
        let detail = format!("idempotency_key has 1 to {MAX_IDEMPOTENCY_KEY_BYTES} bytes");
        return Err(Problem::bad_request(detail));
    }
    Ok(CheckRequest { request: request.cost(cost), idempotency_key, wait: Duration::from_millis(wait_ms) })
}

/// String, borrowed from the body where it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct JsonText<'a>(#[serde(borrow)] Cow<'a, str>);

/// String that is not `null`: that is not the same as a missing one.
fn some_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<JsonText<'de>>, D::Error> {
    JsonText::deserialize(deserializer).map(Some)
}

/// Attributes, read straight into a request.
#[derive(Default)]
pub(crate) struct Attributes<'a>(pub(crate) Request<'a>);

impl<'de: 'a, 'a: 'de> Deserialize<'de> for Attributes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AttributesVisitor)
    }
}

struct AttributesVisitor;

impl<'de> Visitor<'de> for AttributesVisitor {
    type Value = Attributes<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Attributes<'de>, A::Error> {
        let mut request = Request::new();
        let mut count = 0;
        while let Some((JsonText(name), JsonText(value))) = map.next_entry()? {
            if request.get(&name).is_some() {
                return Err(A::Error::custom(format_args!("the attribute {name:?} is given twice")));
            }
            count += 1;
            if count > MAX_ATTRIBUTES {
                return Err(A::Error::custom(format_args!(
                    "there are more than {MAX_ATTRIBUTES} attributes"
                )));
            }
            request.set(name, value);
        }
        Ok(Attributes(request))
    }
}
