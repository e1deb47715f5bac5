//! A verdict and its limits, as members of JSON objects.

use hyper::StatusCode;
use slidegate::{Decision, Limit, LimitAnswer, Outcome, Source, Verdict};

use super::json::{self, Commas};
use super::problem;

/// One limit's part in an answer, whether a rule has it or the request brought it.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) rule: Option<&'a str>,
    pub(super) policy: &'a str,
    pub(super) text: &'a str,
    pub(super) limit: &'a Limit,
    pub(super) decision: &'a Decision,
}

impl<'a> From<LimitAnswer<'a>> for Row<'a> {
    fn from(LimitAnswer { rule, name, text, limit, decision, .. }: LimitAnswer<'a>) -> Self {
        Self { rule, policy: name, text, limit, decision }
    }
}

/// What a problem has besides the members of any answer, with a comma after it.
pub(super) fn problem_members<'a, R: Iterator<Item = Row<'a>>>(
    out: &mut Vec<u8>,
    status: StatusCode,
    verdict: &Verdict,
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
    detail(out, verdict, violated());
    out.extend_from_slice(b"\",\"violated-policies\":[");
    let mut commas = Commas::new();
    for row in violated() {
        commas.next(out);
        json::text(out, row.policy);
    }
    out.extend_from_slice(b"],");
}

/// Which limits refuse, and when to come again.
fn detail<'a>(out: &mut Vec<u8>, verdict: &Verdict, violated: impl Iterator<Item = Row<'a>>) {
    let mut before: &[u8] = b"";
    for row in violated {
        out.extend_from_slice(before);
        json::escaped(out, row.policy);
        before = b", ";
    }
    match (verdict.source, verdict.retry_after_ms()) {
        (Source::Assumed, _) => {
            out.extend_from_slice(b": the store does not answer, and the rule refuses meanwhile");
        }
        (_, Some(_)) => out.extend_from_slice(b": used up"),
        (_, None) => {
            out.extend_from_slice(b": the cost is more than can ever be admitted at once, ask for less");
        }
    }
    if let Some(wait_ms) = verdict.retry_after_ms() {
        out.extend_from_slice(b"; try again in ");
        json::number(out, wait_ms);
        out.extend_from_slice(b" ms");
    }
}

/// The members of any verdict.
pub(super) fn decided<'a>(out: &mut Vec<u8>, verdict: &Verdict, rows: impl Iterator<Item = Row<'a>>) {
    let allowed: &[u8] = if verdict.is_allowed() { b"\"allowed\":true" } else { b"\"allowed\":false" };
    out.extend_from_slice(allowed);
    out.extend_from_slice(b",\"remaining\":");
    json::number_or_null(out, verdict.remaining());
    out.extend_from_slice(b",\"retry_after_ms\":");
    json::number_or_null(out, verdict.retry_after_ms());
    out.extend_from_slice(b",\"reset_after_ms\":");
    json::number_or_null(out, verdict.reset_after_ms());
    out.extend_from_slice(b",\"decided_at_ms\":");
    json::number(out, verdict.decided_at_ms);
    let source: &[u8] = match verdict.source {
        Source::Store => b",\"source\":\"store\",\"limits\":",
        Source::Local => b",\"source\":\"local\",\"limits\":",
        Source::Cache => b",\"source\":\"cache\",\"limits\":",
        Source::Assumed => b",\"source\":\"assumed\",\"limits\":",
    };
    out.extend_from_slice(source);
    let known = Known::of(verdict.source);
    list(out, rows.map(|row| (known, row)));
}

/// Whether somebody looked at a limit, so that what remains can be told.
#[derive(Clone, Copy)]
pub(super) enum Known {
    Yes,
    No,
}

impl Known {
    pub(super) fn of(source: Source) -> Self {
        match source {
            Source::Store | Source::Local => Self::Yes,
            Source::Cache | Source::Assumed => Self::No,
        }
    }
}

pub(super) fn list<'a>(out: &mut Vec<u8>, rows: impl Iterator<Item = (Known, Row<'a>)>) {
    let mut commas = Commas::new();
    out.push(b'[');
    for (known, row) in rows {
        commas.next(out);
        one(out, known, &row);
    }
    out.push(b']');
}

fn one(out: &mut Vec<u8>, known: Known, Row { rule, policy, text, limit, decision }: &Row<'_>) {
    out.push(b'{');
    if let Some(rule) = rule {
        out.extend_from_slice(b"\"rule\":");
        json::text(out, rule);
        out.push(b',');
    }
    out.extend_from_slice(b"\"limit\":");
    json::text(out, text);
    out.extend_from_slice(b",\"policy\":");
    json::text(out, policy);
    out.extend_from_slice(b",\"quota\":");
    json::number(out, limit.quota());
    out.extend_from_slice(b",\"window_ms\":");
    json::number(out, limit.window_ms());
    let (outcome, wait_ms): (&[u8], _) = match decision.outcome {
        Outcome::Fits => (b",\"outcome\":\"fits\"}", None),
        Outcome::RetryAfter(ms) => (b",\"outcome\":\"retry\"}", Some(ms)),
        Outcome::Never => (b",\"outcome\":\"never\"}", None),
    };
    let (remaining, reset_after_ms) = match known {
        Known::Yes => (Some(decision.remaining), Some(decision.reset_after_ms)),
        Known::No => (None, None),
    };
    out.extend_from_slice(b",\"remaining\":");
    json::number_or_null(out, remaining);
    out.extend_from_slice(b",\"retry_after_ms\":");
    json::number_or_null(out, wait_ms);
    out.extend_from_slice(b",\"reset_after_ms\":");
    json::number_or_null(out, reset_after_ms);
    out.extend_from_slice(outcome);
}
