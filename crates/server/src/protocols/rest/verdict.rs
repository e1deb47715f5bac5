//! Verdict and its limits, as members of JSON objects.

use hyper::StatusCode;
use slidegate::{Decision, Limit, LimitAnswer, Outcome, Source, Summary, Verdict, Wait};

use crate::protocols::json;
use crate::protocols::json::Commas;
use crate::protocols::problem;

/// Limit in an answer, of a rule or ad hoc.
#[derive(Clone, Copy)]
pub(crate) struct LimitRow<'a> {
    pub(crate) rule: Option<&'a str>,
    pub(crate) policy: &'a str,
    pub(crate) text: &'a str,
    pub(crate) limit: Limit,
    /// Whole quota, where the limit is this node's share.
    pub(crate) share_of: Option<u64>,
    pub(crate) decision: &'a Decision,
    /// Time of its decision, if that is not the time of the request's.
    pub(crate) decided_at_ms: Option<u64>,
}

impl<'a> From<LimitAnswer<'a>> for LimitRow<'a> {
    fn from(LimitAnswer { rule, name, text, limit, share_of, decision, .. }: LimitAnswer<'a>) -> Self {
        let share_of = share_of.map(Limit::quota);
        Self { rule, policy: name, text, limit, share_of, decision, decided_at_ms: None }
    }
}

impl<'a> LimitRow<'a> {
    /// Limit of a rule in observe mode, which is decided after the request.
    pub(crate) fn observed(limit: LimitAnswer<'a>) -> Self {
        Self { decided_at_ms: Some(limit.decided_at_ms), ..Self::from(limit) }
    }
}

/// Members of a denial before those of any answer, with a comma after them.
pub(crate) fn problem_members<'a, R: Iterator<Item = LimitRow<'a>>>(
    out: &mut Vec<u8>,
    status: StatusCode,
    (verdict, summary): (&Verdict, &Summary),
    rows: impl Fn() -> R,
) {
    let violated = || rows().filter(|row| row.decision.outcome != Outcome::Fits);
    let (kind, title) = match verdict.source {
        Source::Assumed => (
            "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
            "Request cannot be satisfied due to temporary server capacity constraints",
        ),
        _ => (
            "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "Request cannot be satisfied as assigned quota has been exceeded",
        ),
    };
    problem::members(out, kind, title, status);
    out.extend_from_slice(b",\"detail\":\"");
    detail(out, verdict.source, summary.wait, violated());
    out.extend_from_slice(b"\",\"violated-policies\":[");
    let mut commas = Commas::new();
    for row in violated() {
        commas.next(out);
        json::text(out, row.policy);
    }
    out.extend_from_slice(b"],");
}

/// Text: the limits that deny, and the time to retry.
fn detail<'a>(out: &mut Vec<u8>, source: Source, wait: Wait, violated: impl Iterator<Item = LimitRow<'a>>) {
    let mut before: &[u8] = b"";
    for row in violated {
        out.extend_from_slice(before);
        json::escaped(out, row.policy);
        before = b", ";
    }
    match (source, wait) {
        (Source::Assumed, _) => {
            out.extend_from_slice(b": the store is unavailable, and the rule denies meanwhile");
        }
        (Source::Local, Wait::Never) => {
            out.extend_from_slice(
                b": the cost is more than this node's share of the quota, by which it decides while the store \
                  does not answer; ask for less, or again later",
            );
        }
        (_, Wait::Never) => {
            out.extend_from_slice(b": the cost exceeds what the limit admits at once; ask for less");
        }
        (_, Wait::None | Wait::After(_) | Wait::Within(_)) => out.extend_from_slice(b": quota used up"),
    }
    let (words, ms): (&[u8], _) = match wait {
        Wait::None | Wait::Never => return,
        Wait::After(ms) => (b"; try again in ", ms),
        Wait::Within(ms) => (b"; a slot may be free at any time, at the latest in ", ms),
    };
    out.extend_from_slice(words);
    json::number(out, ms);
    out.extend_from_slice(b" ms");
}

/// Members of any verdict.
pub(crate) fn decided<'a>(
    out: &mut Vec<u8>,
    (verdict, summary): (&Verdict, &Summary),
    rows: impl Iterator<Item = LimitRow<'a>>,
) {
    let allowed: &[u8] = if verdict.is_allowed() { b"\"allowed\":true" } else { b"\"allowed\":false" };
    out.extend_from_slice(allowed);
    json::put_number_or_null(out, ",\"remaining\":", summary.remaining);
    put_wait(out, summary.wait);
    json::put_number_or_null(out, ",\"reset_after_ms\":", summary.reset_after_ms);
    json::put_number(out, ",\"decided_at_ms\":", verdict.decided_at_ms);
    for part in [",\"source\":\"", verdict.source.name(), "\",\"limits\":"] {
        out.extend_from_slice(part.as_bytes());
    }
    list(out, rows.map(|row| (verdict.source, row)));
}

/// Exact wait, and the longest possible one where only that is available.
fn put_wait(out: &mut Vec<u8>, wait: Wait) {
    json::put_number_or_null(out, ",\"retry_after_ms\":", wait.exact_ms());
    if let Some(ms) = wait.at_most_ms() {
        json::put_number(out, ",\"retry_after_at_most_ms\":", ms);
    }
}

pub(crate) fn list<'a>(out: &mut Vec<u8>, rows: impl Iterator<Item = (Source, LimitRow<'a>)>) {
    let mut commas = Commas::new();
    out.push(b'[');
    for (source, row) in rows {
        commas.next(out);
        one(out, source, &row);
    }
    out.push(b']');
}

fn one(out: &mut Vec<u8>, source: Source, row: &LimitRow<'_>) {
    let LimitRow { rule, policy, text, limit, share_of, decision, decided_at_ms } = row;
    out.push(b'{');
    if let Some(rule) = rule {
        json::put_text(out, "\"rule\":", rule);
        out.push(b',');
    }
    json::put_text(out, "\"limit\":", text);
    json::put_text(out, ",\"policy\":", policy);
    json::put_number(out, ",\"quota\":", limit.quota());
    if let Some(whole) = share_of {
        json::put_number(out, ",\"share_of\":", *whole);
    }
    json::put_number(out, ",\"window_ms\":", limit.window_ms());
    let has_numbers = source.has_numbers();
    json::put_number_or_null(out, ",\"remaining\":", has_numbers.then_some(decision.remaining));
    put_wait(out, Wait::of(limit, decision));
    json::put_number_or_null(out, ",\"reset_after_ms\":", has_numbers.then_some(decision.reset_after_ms));
    for part in [",\"outcome\":\"", decision.outcome.name(), "\""] {
        out.extend_from_slice(part.as_bytes());
    }
    if let Some(ms) = decided_at_ms {
        json::put_number(out, ",\"decided_at_ms\":", *ms);
    }
    out.push(b'}');
}
