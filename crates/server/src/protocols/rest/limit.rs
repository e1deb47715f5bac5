//! `POST /v1/limit`: decides by an ad hoc limit, without a policy.

use std::time::Duration;

use hyper::StatusCode;
use serde::Deserialize;
use slidegate::{Clock, MAX_VALUE_BYTES};

use super::answer;
use super::check::one;
use super::number::whole;
use crate::config::listener::Listener;
use crate::protocols::ad_hoc_limit::AdHocAlgorithm;
use crate::protocols::json_body;
use crate::protocols::problem::{Problem, Reply};
use crate::runtime::decider::Decider;
use crate::telemetry::otlp::Trace;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitBody {
    key: String,
    #[serde(deserialize_with = "whole")]
    quota: u64,
    #[serde(deserialize_with = "whole")]
    window_ms: u64,
    #[serde(default = "one", deserialize_with = "whole")]
    cost: u64,
    #[serde(default)]
    algorithm: AdHocAlgorithm,
    #[serde(default, deserialize_with = "some_whole")]
    burst: Option<u64>,
}

fn some_whole<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    whole(deserializer).map(Some)
}

pub(crate) async fn limit<C: Clock>(
    decider: &Decider<C>,
    bytes: &[u8],
    id: &str,
    trace: Trace,
) -> Result<Reply, Problem> {
    if !decider.settings().allows_ad_hoc_limits(Listener::Http) {
        let detail =
            "limits in requests are off: set server.ad_hoc_limits to true, or use /v1/check with a rule";
        return Err(Problem::new(StatusCode::FORBIDDEN, detail));
    }
    let body: LimitBody = json_body::parse(bytes)?;
    if body.key.is_empty() || body.key.len() > MAX_VALUE_BYTES {
        return Err(Problem::bad_request(format!("key has 1 to {MAX_VALUE_BYTES} bytes")));
    }
    if body.burst.is_some() && body.algorithm != AdHocAlgorithm::Gcra {
        return Err(Problem::bad_request("burst is for the algorithm gcra only"));
    }
    let window = Duration::from_millis(body.window_ms);
    let limit = body
        .algorithm
        .limit(body.quota, window, body.burst)
        .map_err(|error| Problem::bad_request(error.to_string()))?;
    let verdict = decider.limit(decider.gate().ad_hoc(), &*body.key, limit, body.cost, Some(id), trace).await;
    let verdict = verdict.map_err(|error| Problem::store(&error))?;
    Ok(answer::ad_hoc_reply(decider, &limit, &verdict))
}
