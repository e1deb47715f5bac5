//! `GET /check?userId=alice`: the API of RLAAS, answered by the rule named `rlaas`.

use hyper::StatusCode;
use slidegate::http::json;
use slidegate::{CheckRequest, Clock, LimitAnswer, LimitKind, Request, Source};

use super::answer;
use crate::protocols::problem::{JSON, Problem, Reply, reply};
use crate::protocols::query;
use crate::runtime::decider::Decider;
use crate::telemetry::otlp::Trace;

const RULE: &str = "rlaas";
const USER: &str = "userId";

pub(crate) async fn check<C: Clock>(
    decider: &Decider<C>,
    query: Option<&str>,
    id: &str,
    trace: Trace,
) -> Result<Reply, Problem> {
    let parameters = query::parse(query)?;
    if let Some((name, _)) = parameters.iter().find(|(name, _)| name != USER) {
        return Err(query::unknown(name, USER));
    }
    let user = parameters.first().map_or("", |(_, user)| user);
    if user.is_empty() {
        return Err(Problem::bad_request("missing parameter userId, as in /check?userId=alice"));
    }
    let request = Request::new().with_id(id).with(USER, user);
    request.check().map_err(|error| Problem::bad_request(error.to_string()))?;
    let check_request = CheckRequest::from(request);
    let Some(answer) = decider.check_rule(RULE, &check_request, trace).await? else {
        let detail = "no rule named rlaas: add one with key: [userId] and a limit";
        return Err(Problem::new(StatusCode::NOT_FOUND, detail));
    };
    if let Some((rule, why)) = answer.blocked() {
        return Ok(answer::blocked(rule, why));
    }
    let verdict = answer.verdict();
    let limit = answer.limits().next().or_else(|| answer.observed().next());
    let count = match limit {
        Some(limit) if verdict.source != Source::Assumed => {
            Some(count(decider, &check_request, &limit, verdict.source).await?)
        }
        _ => None,
    };
    let ttl = limit.map(|limit| ttl_s(&limit, verdict.decided_at_ms));
    let status = if answer.is_allowed() { StatusCode::OK } else { StatusCode::TOO_MANY_REQUESTS };
    let mut reply = reply(status, JSON, body(status, count, ttl));
    answer::put_headers(decider, &answer, reply.headers_mut());
    Ok(reply)
}

/// Units in use. Where nothing remains there may be more than the quota, and the store returns all
/// of them.
async fn count<C: Clock>(
    decider: &Decider<C>,
    check_request: &CheckRequest<'_>,
    limit: &LimitAnswer<'_>,
    source: Source,
) -> Result<u64, Problem> {
    if limit.decision.remaining == 0 && source != Source::Local {
        let used = decider.gate().used(RULE, &check_request.request).await?;
        if let Some(used) = used.and_then(|used| used.first().copied()) {
            return Ok(used);
        }
    }
    Ok(limit.limit.ceiling().saturating_sub(limit.decision.remaining))
}

/// `ttl` of RLAAS, in seconds: the window where it slides, the rest of it where it is fixed.
fn ttl_s(limit: &LimitAnswer<'_>, now_ms: u64) -> u64 {
    let window_ms = limit.limit.window_ms();
    let ttl_ms = match limit.limit.kind() {
        LimitKind::Fixed => window_ms - limit.limit.elapsed_ms(now_ms),
        _ => window_ms,
    };
    ttl_ms.div_ceil(1_000)
}

fn body(status: StatusCode, count: Option<u64>, ttl_s: Option<u64>) -> Vec<u8> {
    let allowed: &[u8] = if status == StatusCode::OK { b"true" } else { b"false" };
    let mut out = [b"{\"allowed\":", allowed, b",\"currentCount\":"].concat();
    json::number_or_null(&mut out, count);
    json::put_number_or_null(&mut out, ",\"ttl\":", ttl_s);
    out.push(b'}');
    out
}
