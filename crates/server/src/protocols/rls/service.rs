//! `ShouldRateLimit`: decides a call, and makes its response.

use slidegate::{Answer, BatchItem, Clock, GateError};

use super::descriptors::DescriptorBatch;
use super::failure::Failure;
use super::proto::{Code, HeaderValue, RateLimitRequest, RateLimitResponse};
use super::{descriptor_status, metadata};
use crate::config::listener::Listener;
use crate::runtime::decider::Decider;
use crate::telemetry::otlp::Trace;

/// Response to a call over gRPC.
pub(crate) async fn should_rate_limit<C: Clock>(
    decider: &Decider<C>,
    request: &RateLimitRequest,
    id: Option<&str>,
    trace: Trace,
) -> Result<RateLimitResponse, Failure> {
    let ad_hoc_limits = decider.settings().allows_ad_hoc_limits(Listener::Grpc);
    decide(decider, request, (id, ad_hoc_limits), trace).await
}

/// Response to a call over any protocol; `ad_hoc_limits`: whether its descriptors may have limits.
pub(crate) async fn decide<C: Clock>(
    decider: &Decider<C>,
    call: &RateLimitRequest,
    (id, ad_hoc_limits): (Option<&str>, bool),
    trace: Trace,
) -> Result<RateLimitResponse, Failure> {
    let mut batch = DescriptorBatch::new(call, ad_hoc_limits)?;
    batch.refuse_repeated(&decider.gate().policy(), &call.descriptors);
    if let Some(id) = id {
        batch.set_id(id);
    }
    let answer = loop {
        match decider.check_all(&batch.items).await {
            Err(GateError::Request(error)) => batch.refuse_unfit(&decider.gate().policy(), &error),
            answer => break answer,
        }
    };
    decider.tracer.batch_answered(trace, &answer);
    let answer = answer?;
    // Envoy has a setting of its own for an outage, and would take a refusal for a limit that is
    // used up.
    if let Some(rule) = answer.unanswered() {
        let why = format!("the store is unavailable, and the rule {rule} denies meanwhile");
        return Err(Failure::Unavailable(why));
    }
    Ok(response(decider, &answer, &batch.unfit))
}

/// Response to a call that is too large to be read: over the limit. Envoy lets a request pass after
/// an error unless it is configured otherwise, and the size of a call may be up to a client.
pub(crate) async fn refuse_unread<C: Clock>(
    decider: &Decider<C>,
    why: &str,
    trace: Trace,
) -> RateLimitResponse {
    // Counted and traced as any other refusal.
    let answer = decider.check_all(&[BatchItem::Refuse]).await;
    decider.tracer.batch_answered(trace, &answer);
    RateLimitResponse {
        overall_code: Code::OverLimit as i32,
        dynamic_metadata: metadata::unread(why),
        ..RateLimitResponse::default()
    }
}

fn response<C: Clock>(decider: &Decider<C>, answer: &Answer, unfit: &[String]) -> RateLimitResponse {
    let overall_code = if answer.is_allowed() { Code::Ok } else { Code::OverLimit };
    let mut response_headers_to_add = Vec::new();
    let put = |name: &'static str, value: &str| {
        response_headers_to_add.push(HeaderValue { key: name.to_owned(), value: value.to_owned() });
    };
    decider.settings().response_headers().write(answer, || decider.next_seed(), put);
    RateLimitResponse {
        overall_code: overall_code as i32,
        statuses: answer.items().map(|item| descriptor_status::status(&item)).collect(),
        response_headers_to_add,
        dynamic_metadata: metadata::metadata(answer, unfit),
    }
}
