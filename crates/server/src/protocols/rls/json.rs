//! `POST /json`: a call of Envoy's rate limit service in JSON, for what speaks no gRPC.

mod read;
mod write;

use hyper::StatusCode;
use hyper::header::HeaderValue;
use slidegate::Clock;

use super::failure::Failure;
use super::proto::Code;
use super::service;
use crate::protocols::json_body;
use crate::protocols::problem;
use crate::protocols::problem::{Problem, Reply};
use crate::runtime::decider::Decider;
use crate::telemetry::otlp::Trace;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Names of [`proto::Unit`](super::proto::Unit), by number.
const UNITS: [&str; 8] = ["UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "WEEK"];
/// Names of [`Code`], by number.
const CODES: [&str; 3] = ["UNKNOWN", "OK", "OVER_LIMIT"];

pub(crate) async fn should_rate_limit<C: Clock>(
    decider: &Decider<C>,
    bytes: &[u8],
    id: &str,
    trace: Trace,
) -> Result<Reply, Problem> {
    let call: read::JsonCall = json_body::parse(bytes)?;
    let ad_hoc_limits = decider.settings().ad_hoc_limits;
    let response = service::decide(decider, &call.into(), (Some(id), ad_hoc_limits), trace).await?;
    let is_over = response.overall_code == Code::OverLimit as i32;
    let status = if is_over { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::OK };
    Ok(problem::reply(status, JSON, write::response(&response)))
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Invalid(why) => Self::bad_request(why),
            Failure::Unavailable(why) => Self::overloaded(why),
        }
    }
}
