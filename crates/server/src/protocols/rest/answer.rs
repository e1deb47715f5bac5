//! Responses of the check API: JSON and headers.

use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, StatusCode};
use slidegate::http::json;
use slidegate::http::verdict_json::{
    LimitRow, VerdictRow, blocked_detail, put_limits, put_problem, put_verdict,
};
use slidegate::policy::Blocked;
use slidegate::{Answer, Clock, Limit, Permit, Source, Summary, Verdict};

use super::denial;
use crate::protocols::problem;
use crate::protocols::problem::{JSON, PROBLEM_JSON, Reply};
use crate::runtime::decider::Decider;

/// Size of most bodies.
const BODY_BYTES: usize = 512;

/// Response of 200, 429 or 403, with all members.
pub(crate) fn reply<C: Clock>(decider: &Decider<C>, answer: &Answer) -> Reply {
    if let Some((rule, why)) = answer.blocked() {
        return blocked(rule, why);
    }
    let mut reply = if answer.is_allowed() {
        let mut body = Vec::with_capacity(BODY_BYTES);
        body.push(b'{');
        put_verdict(&mut body, &row(answer), answer.limits().map(LimitRow::from));
        put_rest(&mut body, answer, decider.gate().permit(answer).as_ref());
        body.push(b'}');
        problem::reply(StatusCode::OK, JSON, body)
    } else {
        refusal(answer, StatusCode::TOO_MANY_REQUESTS)
    };
    put_headers(decider, answer, reply.headers_mut());
    reply
}

/// Response to a proxy: only a status where the request may pass.
pub(crate) fn pass_or_refuse<C: Clock>(
    decider: &Decider<C>,
    answer: &Answer,
    deny_status: StatusCode,
) -> Reply {
    if let Some((rule, why)) = answer.blocked() {
        return blocked(rule, why);
    }
    let mut reply = if answer.is_allowed() { Reply::default() } else { refusal(answer, deny_status) };
    put_headers(decider, answer, reply.headers_mut());
    reply
}

/// Response to an ad hoc limit: it belongs to no rule, and its name is its text.
pub(crate) fn ad_hoc_reply<C: Clock>(decider: &Decider<C>, limit: &Limit, verdict: &Verdict) -> Reply {
    let name = limit.to_string();
    let decisive = decider.gate().decisive(limit, verdict.source);
    let share_of = (verdict.source == Source::Local).then(|| limit.quota());
    let row = |decision| LimitRow {
        rule: None,
        policy: &name,
        text: &name,
        limit: decisive,
        share_of,
        decision,
        decided_at_ms: None,
    };
    let rows = || verdict.decisions.iter().map(row);
    let summary = Summary::new(verdict.source, std::iter::zip([decisive], &*verdict.decisions));
    let mut body = Vec::with_capacity(BODY_BYTES);
    body.push(b'{');
    if verdict.is_allowed() {
        put_verdict(&mut body, &VerdictRow::new(verdict, &summary), rows());
        body.push(b'}');
        return problem::reply(StatusCode::OK, JSON, body);
    }
    denial::put_members(&mut body, StatusCode::TOO_MANY_REQUESTS, (verdict, &summary), rows);
    body.push(b'}');
    let mut reply = problem::reply(StatusCode::TOO_MANY_REQUESTS, PROBLEM_JSON, body);
    if let Some(wait_ms) = summary.wait.exact_ms() {
        let seconds = decider.settings().response_headers().retry_after_s(wait_ms, || decider.next_seed());
        reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    reply
}

/// Refused whatever the limits say: no wait helps.
pub(crate) fn blocked(rule: &str, why: Blocked) -> Reply {
    let mut body = Vec::with_capacity(BODY_BYTES);
    body.push(b'{');
    put_problem(&mut body, ("about:blank", "Forbidden"), StatusCode::FORBIDDEN.as_u16());
    json::put_text(&mut body, ",\"detail\":", &blocked_detail(rule, why));
    json::put_text(&mut body, ",\"allowed\":false,\"rule\":", rule);
    body.push(b'}');
    problem::reply(StatusCode::FORBIDDEN, PROBLEM_JSON, body)
}

/// Headers that the settings enable.
pub(crate) fn put_headers<C: Clock>(decider: &Decider<C>, answer: &Answer, headers: &mut HeaderMap) {
    decider.settings().response_headers().fields(answer, || decider.next_seed()).put_into(headers);
}

fn refusal(answer: &Answer, status: StatusCode) -> Reply {
    let mut body = Vec::with_capacity(2 * BODY_BYTES);
    body.push(b'{');
    let decision = (answer.verdict(), &answer.summary());
    denial::put_members(&mut body, status, decision, || answer.limits().map(LimitRow::from));
    put_rest(&mut body, answer, None);
    body.push(b'}');
    problem::reply(status, PROBLEM_JSON, body)
}

fn row(answer: &Answer) -> VerdictRow {
    VerdictRow::new(answer.verdict(), &answer.summary())
}

/// Writes the members of an answer that a verdict on ad hoc limits does not have.
fn put_rest(out: &mut Vec<u8>, answer: &Answer, permit: Option<&Permit>) {
    if let Some(permit) = permit {
        json::put_text(out, ",\"permit\":", &permit.to_string());
    }
    if answer.replayed() {
        out.extend_from_slice(b",\"replayed\":true");
    }
    let mut observed = answer.observed().peekable();
    if observed.peek().is_some() {
        out.extend_from_slice(b",\"observed\":");
        put_limits(out, observed.map(|limit| (limit.source, LimitRow::observed(limit))));
    }
}
