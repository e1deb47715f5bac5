//! Verdicts as members of JSON objects: of the server's HTTP API, and of refusals of a tower
//! service.

use slidegate_core::{Decision, Limit, Outcome, Source, Summary, Verdict, Wait};
use slidegate_policy::Blocked;

use super::json::{self, Commas};
use crate::gate::LimitAnswer;

/// Type and title of a problem, as in the registry of problem types.
pub type ProblemTitle = (&'static str, &'static str);

const QUOTA_EXCEEDED: ProblemTitle = (
    "https://iana.org/assignments/http-problem-types#quota-exceeded",
    "Request cannot be satisfied as assigned quota has been exceeded",
);
/// Problem of a request that could be served at another time.
pub const REDUCED_CAPACITY: ProblemTitle = (
    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
    "Request cannot be satisfied due to temporary server capacity constraints",
);

/// Problem of a denial that was decided by this source.
pub fn denial_title(source: Source) -> ProblemTitle {
    if source == Source::Assumed { REDUCED_CAPACITY } else { QUOTA_EXCEEDED }
}

/// Detail of the problem of a request that a rule blocks.
pub fn blocked_detail(rule: &str, why: Blocked) -> String {
    let why = match why {
        Blocked::DenyList => "is on its deny list",
        Blocked::MissingKey => "lacks an attribute of its key",
    };
    format!("rule {rule} blocks this request: it {why}")
}

/// Writes the members at the beginning of every problem.
pub fn put_problem(out: &mut Vec<u8>, (kind, title): (&str, &str), status: u16) {
    json::put_text(out, "\"type\":", kind);
    json::put_text(out, ",\"title\":", title);
    json::put_number(out, ",\"status\":", u64::from(status));
}

/// Numbers of a whole request.
#[derive(Clone, Copy, Debug)]
pub struct VerdictRow {
    allowed: bool,
    source: Source,
    decided_at_ms: u64,
    summary: Summary,
}

impl VerdictRow {
    /// Numbers of a verdict.
    pub fn new(verdict: &Verdict, summary: &Summary) -> Self {
        let (source, decided_at_ms) = (verdict.source, verdict.decided_at_ms);
        Self { allowed: verdict.is_allowed(), source, decided_at_ms, summary: *summary }
    }

    /// Numbers of a denial by no limit.
    pub fn without_limits(source: Source, decided_at_ms: u64) -> Self {
        let summary = Summary { wait: Wait::Never, ..Summary::default() };
        Self { allowed: false, source, decided_at_ms, summary }
    }
}

/// Limit in an answer, of a rule or ad hoc.
#[derive(Clone, Copy, Debug)]
pub struct LimitRow<'a> {
    /// Rule that has the limit.
    pub rule: Option<&'a str>,
    /// Name of the limit.
    pub policy: &'a str,
    /// Text of the limit.
    pub text: &'a str,
    /// The limit that decided.
    pub limit: Limit,
    /// Whole quota, where the limit is this node's share.
    pub share_of: Option<u64>,
    /// Its decision.
    pub decision: &'a Decision,
    /// Time of its decision, if that is not the time of the request's.
    pub decided_at_ms: Option<u64>,
}

impl<'a> From<LimitAnswer<'a>> for LimitRow<'a> {
    fn from(LimitAnswer { rule, name, text, limit, share_of, decision, .. }: LimitAnswer<'a>) -> Self {
        let share_of = share_of.map(Limit::quota);
        Self { rule, policy: name, text, limit, share_of, decision, decided_at_ms: None }
    }
}

impl<'a> LimitRow<'a> {
    /// Limit of a rule in observe mode, which is decided after the request.
    pub fn observed(limit: LimitAnswer<'a>) -> Self {
        Self { decided_at_ms: Some(limit.decided_at_ms), ..Self::from(limit) }
    }

    /// Whether the limit denies.
    pub fn is_violated(&self) -> bool {
        self.decision.outcome != Outcome::Fits
    }
}

/// Writes the members of a denial, after a comma.
pub fn put_denial<'a, R: Iterator<Item = LimitRow<'a>>>(
    out: &mut Vec<u8>,
    verdict: &VerdictRow,
    rows: impl Fn() -> R,
) {
    out.extend_from_slice(b",\"violated-policies\":[");
    let mut commas = Commas::default();
    for row in rows().filter(LimitRow::is_violated) {
        commas.next(out);
        json::text(out, row.policy);
    }
    out.extend_from_slice(b"],");
    put_verdict(out, verdict, rows());
}

/// Writes the members of any verdict.
pub fn put_verdict<'a>(out: &mut Vec<u8>, verdict: &VerdictRow, rows: impl Iterator<Item = LimitRow<'a>>) {
    let VerdictRow { allowed, source, decided_at_ms, summary } = verdict;
    out.extend_from_slice(if *allowed { b"\"allowed\":true" } else { b"\"allowed\":false" });
    json::put_number_or_null(out, ",\"remaining\":", summary.remaining);
    put_wait(out, summary.wait);
    json::put_number_or_null(out, ",\"reset_after_ms\":", summary.reset_after_ms);
    json::put_number(out, ",\"decided_at_ms\":", *decided_at_ms);
    for part in [",\"source\":\"", source.name(), "\",\"limits\":"] {
        out.extend_from_slice(part.as_bytes());
    }
    put_limits(out, rows.map(|row| (*source, row)));
}

/// Exact wait, and the longest possible one where only that is available.
fn put_wait(out: &mut Vec<u8>, wait: Wait) {
    json::put_number_or_null(out, ",\"retry_after_ms\":", wait.exact_ms());
    if let Some(ms) = wait.at_most_ms() {
        json::put_number(out, ",\"retry_after_at_most_ms\":", ms);
    }
}

/// Writes a list of limits, each with what decided.
pub fn put_limits<'a>(out: &mut Vec<u8>, rows: impl Iterator<Item = (Source, LimitRow<'a>)>) {
    let mut commas = Commas::default();
    out.push(b'[');
    for (source, row) in rows {
        commas.next(out);
        put_limit(out, source, &row);
    }
    out.push(b']');
}

fn put_limit(out: &mut Vec<u8>, source: Source, row: &LimitRow<'_>) {
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
