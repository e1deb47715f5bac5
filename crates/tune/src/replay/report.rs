//! Report of a replay: numbers only, the input of the terminal, of JSON and of HTML.

use serde::Serialize;
use slidegate::policy::KeyText;
use slidegate::policy::file::{Condition, Mode, Test};

use super::log_summary::LogSummary;
use super::timeline::{TimeAxis, Timeline};
use crate::peak::FINE_QUOTA;

/// Report of a replay.
#[derive(Clone, Serialize, Debug)]
pub struct ReplayReport {
    /// Name of the policy file.
    pub policy: String,
    /// How the log was read: files, format, precision, unread and late lines.
    pub read: LogSummary,
    /// Precision of the numbers.
    pub precision: Precision,
    /// Time axis of all timelines; `None` if nothing was decided.
    pub axis: Option<TimeAxis>,
    /// Counts of all requests.
    pub requests: ReplayCounts,
    /// Requests over time.
    pub requests_timeline: Timeline,
    /// Requests that were denied or blocked, over time.
    pub denied_timeline: Timeline,
    /// Rules, in the order of the policy.
    pub rules: Vec<RuleReplay>,
    /// Subjects with the most denials, of enforced rules and of those in observe mode.
    pub most_denied: Vec<DeniedSubject>,
    /// What changes from another policy to this one.
    pub against: Option<AgainstReport>,
    /// Every rate limit under each of the algorithms.
    pub algorithms: Vec<AlgorithmReplay>,
    /// Conditions of `--fail-if`.
    pub thresholds: Vec<ThresholdReport>,
    /// Remarks for the reader, such as limits that were left out.
    pub notes: Vec<String>,
}

/// Precision of the numbers of a replay.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Starts are known to the millisecond: the numbers are exact.
    Exact,
    /// Starts are known to the second: peaks and touched subjects are ranges that contain the
    /// truth.
    WholeSeconds,
    /// Only ends are known, to the second: the ranges hold for ends.
    WholeSecondEnds,
    /// Only ends are known, to the millisecond: the numbers are exact for ends.
    Ends,
}

/// Counts of requests by outcome.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Debug)]
pub struct ReplayCounts {
    /// Requests that were decided.
    pub decided: u64,
    /// Requests that at least one enforced limit denied.
    pub denied: u64,
    /// Requests that a deny list or a missing key blocked.
    pub blocked: u64,
    /// Allowed requests that at least one rule in observe mode would deny or block.
    pub would_deny: u64,
    /// Requests that no rule matched.
    pub unlimited: u64,
    /// Requests that the policy refuses to judge, such as those with an ambiguous path.
    pub invalid: u64,
    /// Requests that the log shows as limited already (status 429).
    pub limited_in_log: u64,
    /// Of these, requests that were left out.
    pub skipped: u64,
}

/// Numbers of a rule.
#[derive(Clone, Serialize, Debug)]
pub struct RuleReplay {
    /// Name.
    pub name: String,
    /// Attributes of its key, in words.
    pub key: String,
    /// Mode.
    pub mode: ReplayMode,
    /// Requests that it matched.
    pub requests: u64,
    /// Requests that its limits denied.
    pub denied: u64,
    /// Requests that it would deny or block in enforce mode.
    pub would_deny: u64,
    /// Requests that it blocked.
    pub blocked: u64,
    /// Subjects.
    pub subjects: u64,
    /// Subjects denied at least once, or that would be.
    pub touched: CountRange,
    /// Its limits, limit set by limit set.
    pub limits: Vec<LimitReplay>,
    /// Requests over time.
    pub requests_timeline: Timeline,
    /// Requests that were denied, blocked, or would be, over time.
    pub denied_timeline: Timeline,
}

/// Mode of a rule in a replay.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "snake_case")]
pub enum ReplayMode {
    /// It denies what exceeds its limits.
    Enforce,
    /// It only counts.
    Observe,
    /// It is enforced for some requests, and observes the others.
    Partly,
}

impl From<&Mode> for ReplayMode {
    fn from(mode: &Mode) -> Self {
        match mode {
            Mode::Enforce => Self::Enforce,
            Mode::Observe => Self::Observe,
            Mode::Share(_) | Mode::For(_) => Self::Partly,
        }
    }
}

/// Numbers of a limit.
#[derive(Clone, Serialize, Debug)]
pub struct LimitReplay {
    /// Name in responses, such as `login-5/min`.
    pub name: String,
    /// Short form, such as `5/min`.
    pub limit: String,
    /// Requests of the rule that it applies to, such as `all requests` or `tier is enterprise`.
    pub applies_to: String,
    /// Conditions of the override that has it; none for the limits of the rule and of its tiers.
    #[serde(skip)]
    pub when: Vec<OverrideCondition>,
    /// `log`, `counter`, `fixed`, `gcra` or `in_flight`.
    pub algorithm: &'static str,
    /// Units per window, or requests in flight.
    pub quota: u64,
    /// Window; for requests in flight, the maximum hold.
    pub window_ms: u64,
    /// Requests that it was asked about.
    pub requests: u64,
    /// Requests that it denied.
    pub denied: u64,
    /// Requests that it would deny in enforce mode.
    pub would_deny: u64,
    /// Subjects that it was asked about.
    pub subjects: u64,
    /// Subjects that it denied at least once, or would.
    pub touched: CountRange,
    /// Most requests of one subject in any window, admitted or not.
    pub peak: CountRange,
    /// How many subjects have which peak, ascending. On logs with whole seconds: upper ends of the
    /// ranges.
    pub peaks: Vec<PeakCount>,
    /// Highest peak over time.
    pub peak_timeline: Timeline,
}

/// Condition of an override, whose values may identify a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OverrideCondition {
    /// Attribute.
    pub attribute: String,
    /// `is` or `starts with`.
    pub test: &'static str,
    /// Values, of which one must fit.
    pub values: Vec<String>,
}

impl From<&Condition> for OverrideCondition {
    fn from(condition: &Condition) -> Self {
        let (test, values) = match &condition.test {
            Test::Is(values) => ("is", values),
            Test::Prefix(values) => ("starts with", values),
        };
        let values = values.iter().filter_map(|text| text.value.clone()).collect();
        Self { attribute: condition.attribute.clone(), test, values }
    }
}

/// Range of a count; both ends are equal where the count is exact.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Debug)]
pub struct CountRange {
    /// Least possible count.
    pub low: u64,
    /// Largest possible count.
    pub high: u64,
}

/// Number of subjects with a peak.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
pub struct PeakCount {
    /// Peak. Above 1,000 it is rounded up to three digits.
    pub peak: u64,
    /// Peak under quotas above 128, where their logs in slots count more than 128 requests, and
    /// those in milliseconds do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coarse_peak: Option<u64>,
    /// Subjects.
    pub subjects: u64,
}

impl PeakCount {
    /// Peak as the log of a quota counts it.
    pub fn under(&self, quota: u64) -> u64 {
        self.coarse_peak.filter(|_| quota > FINE_QUOTA).unwrap_or(self.peak)
    }
}

/// Subject with denials.
#[derive(Clone, Serialize, Debug)]
pub struct DeniedSubject {
    /// Rule.
    pub rule: String,
    /// Parts of the key.
    #[serde(serialize_with = "super::json::key")]
    pub key: Vec<KeyText>,
    /// Requests under the rule.
    pub requests: u64,
    /// Requests that were denied, or would be.
    pub denied: u64,
    /// Time of the first denial, in Unix milliseconds.
    pub first_denial_ms: u64,
    /// Denials over time.
    pub timeline: Timeline,
}

/// Comparison with another policy.
#[derive(Clone, Serialize, Debug)]
pub struct AgainstReport {
    /// Name of the other policy file.
    pub policy: String,
    /// Counts under the other policy.
    pub requests: ReplayCounts,
    /// Requests that only this policy denies or blocks.
    pub newly_denied: u64,
    /// Requests that only the other policy denies or blocks.
    pub newly_allowed: u64,
    /// Newly denied requests by the rule of this policy that denies them.
    pub newly_denied_by: Vec<RuleCount>,
    /// Newly allowed requests by the rule of the other policy that denies them.
    pub newly_allowed_by: Vec<RuleCount>,
    /// Newly denied requests by subject, the most first.
    pub newly_denied_subjects: Vec<SubjectCount>,
    /// Newly allowed requests by subject, the most first.
    pub newly_allowed_subjects: Vec<SubjectCount>,
}

/// Number of requests of a rule.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct RuleCount {
    /// Rule.
    pub rule: String,
    /// Requests.
    pub requests: u64,
    /// Subjects.
    pub subjects: u64,
}

/// Number of requests of a subject.
#[derive(Clone, Serialize, Debug)]
pub struct SubjectCount {
    /// Rule.
    pub rule: String,
    /// Parts of the key.
    #[serde(serialize_with = "super::json::key")]
    pub key: Vec<KeyText>,
    /// Requests.
    pub requests: u64,
}

/// Replay with every rate limit under one algorithm.
#[derive(Clone, Serialize, Debug)]
pub struct AlgorithmReplay {
    /// `log`, `counter`, `fixed` or `gcra`.
    pub algorithm: &'static str,
    /// Requests that were denied.
    pub denied: u64,
    /// Limits, in the order of [`RuleReplay::limits`] of all rules; in-flight limits are left out.
    pub limits: Vec<AlgorithmLimit>,
}

/// Limit under one algorithm.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct AlgorithmLimit {
    /// Rule.
    pub rule: String,
    /// Short form of the limit, such as `5/min`.
    pub limit: String,
    /// Quota.
    pub quota: u64,
    /// Requests that it denied.
    pub denied: u64,
    /// Most requests of one subject that were admitted in any exact window.
    pub most_admitted: u64,
}

/// Condition of `--fail-if`, and whether it holds.
#[derive(Clone, Serialize, Debug)]
pub struct ThresholdReport {
    /// Condition as it was given.
    pub condition: String,
    /// Value that was compared: a count, or a percentage.
    pub value: f64,
    /// Whether the condition holds, so that the command fails.
    pub holds: bool,
}

impl CountRange {
    /// Range of an exact count.
    pub fn exact(count: u64) -> Self {
        Self { low: count, high: count }
    }

    /// Whether both ends are equal.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }
}

impl LimitReplay {
    /// Number of subjects that a quota would touch: those with a higher peak.
    pub fn touched_by_quota(&self, quota: u64) -> u64 {
        self.peaks.iter().filter(|count| count.under(quota) > quota).map(|count| count.subjects).sum()
    }
}
