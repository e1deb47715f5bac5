//! `POST /json`: a call of Envoy's rate limit service in JSON, for clients without gRPC.

use hyper::StatusCode;
use slidegate::Clock;

use super::failure::Failure;
use super::proto::{Code, RateLimitRequest};
use super::{json_response, service};
use crate::config::listener::Listener;
use crate::protocols::json_body;
use crate::protocols::problem::{JSON, Problem, Reply, reply};
use crate::runtime::decider::Decider;
use crate::telemetry::otlp::Trace;

pub(crate) async fn should_rate_limit<C: Clock>(
    decider: &Decider<C>,
    bytes: &[u8],
    id: &str,
    trace: Trace,
) -> Result<Reply, Problem> {
    let call: RateLimitRequest = json_body::parse(bytes)?;
    let ad_hoc_limits = decider.settings().allows_ad_hoc_limits(Listener::Http);
    let response = service::decide(decider, &call, (Some(id), ad_hoc_limits), trace).await?;
    let is_over = response.overall_code == Code::OverLimit as i32;
    let status = if is_over { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::OK };
    Ok(reply(status, JSON, json_response::render(&response)))
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Invalid(why) => Self::bad_request(why),
            Failure::Unavailable(why) => Self::overloaded(why),
        }
    }
}
