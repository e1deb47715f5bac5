//! Answers of a server.

use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::CheckError;

/// Most characters of a body that an error repeats.
const MAX_DETAIL_CHARS: usize = 200;

/// Answer to a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckVerdict {
    /// The request may pass, and is charged.
    Allowed(CheckAnswer),
    /// A limit has no room for the request. Nothing is charged.
    Denied(CheckAnswer),
    /// A rule blocks the request, whatever its limits: by a deny list, or for want of a key.
    Blocked(CheckBlock),
}

impl CheckVerdict {
    /// Whether the request may pass.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    pub(super) fn parse(status: StatusCode, body: &[u8]) -> Result<Self, CheckError> {
        match status {
            StatusCode::OK => json(body).map(Self::Allowed),
            // One without numbers has a problem of its own, such as too many open permits.
            StatusCode::TOO_MANY_REQUESTS => json(body).map(Self::Denied).map_err(|_| problem(status, body)),
            StatusCode::FORBIDDEN => json(body).map(Self::Blocked).map_err(|_| problem(status, body)),
            _ => Err(problem(status, body)),
        }
    }
}

/// Numbers of an answer. `None` is unknown, or not bounded.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[non_exhaustive]
pub struct CheckAnswer {
    /// Largest cost that would be admitted now.
    pub remaining: Option<u64>,
    /// Exact wait until the request would fit, if nothing else is admitted meanwhile. `None` if it
    /// is allowed, or can never fit.
    pub retry_after_ms: Option<u64>,
    /// Longest wait for a slot of an in-flight limit.
    pub retry_after_at_most_ms: Option<u64>,
    /// Time until all usage is gone.
    pub reset_after_ms: Option<u64>,
    /// Unix time of the clock that decided.
    pub decided_at_ms: u64,
    /// Source of the decision.
    pub source: CheckSource,
    /// Limits that apply, in the order of the policy file.
    pub limits: Vec<CheckLimit>,
    /// Limits of rules in observe mode.
    #[serde(default)]
    pub observed: Vec<CheckLimit>,
    /// Permit for a settlement or refund.
    pub permit: Option<String>,
    /// Whether this answers an earlier attempt with the same idempotency key.
    #[serde(default)]
    pub replayed: bool,
}

/// One limit of an answer.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[non_exhaustive]
pub struct CheckLimit {
    /// Rule of the limit.
    pub rule: Option<String>,
    /// Limit as the policy has it, such as `5/min`.
    pub limit: String,
    /// Name in headers.
    pub policy: String,
    /// Units per window.
    pub quota: u64,
    /// Window, or the longest hold of an in-flight limit.
    pub window_ms: u64,
    /// Largest cost that this limit would admit now.
    pub remaining: Option<u64>,
    /// Exact wait, if this limit denies.
    pub retry_after_ms: Option<u64>,
    /// Longest wait for a slot of an in-flight limit.
    pub retry_after_at_most_ms: Option<u64>,
    /// Time until the usage of this limit is gone.
    pub reset_after_ms: Option<u64>,
    /// Whether the cost fits.
    pub outcome: CheckOutcome,
}

/// Outcome of one limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CheckOutcome {
    /// The cost fits.
    Fits,
    /// The cost fits after a wait.
    Retry,
    /// The cost is above what the limit can ever admit.
    Never,
    /// Outcome of a newer server.
    #[serde(other)]
    Unknown,
}

/// Source of the decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CheckSource {
    /// The store.
    Store,
    /// A cached denial that still holds.
    Cache,
    /// A node by its share of the quota, while the store is unavailable.
    Local,
    /// The setting of the rule, while the store is unavailable.
    Assumed,
    /// Source of a newer server.
    #[serde(other)]
    Unknown,
}

/// Block of a request by a rule.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[non_exhaustive]
pub struct CheckBlock {
    /// Rule that blocks.
    pub rule: String,
    /// Reason, for people.
    pub detail: String,
}

/// Outcome of a settlement or refund.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PermitOutcome {
    /// The charge is replaced, refunded or released.
    Settled,
    /// The same under some rules of the permit only.
    PartlySettled,
    /// The charge has left its window: nothing is left to change.
    Expired,
    /// The key was reset, or its state was lost: nothing changed.
    Void,
    /// The permit was used before: nothing changed. After a retry, the first attempt may have used
    /// it.
    AlreadySpent,
    /// Outcome of a newer server.
    #[serde(other)]
    Unknown,
}

impl PermitOutcome {
    pub(super) fn parse(status: StatusCode, body: &[u8]) -> Result<Self, CheckError> {
        #[derive(Deserialize)]
        struct Body {
            outcome: PermitOutcome,
        }
        match status {
            StatusCode::OK | StatusCode::CONFLICT => json(body).map(|body: Body| body.outcome),
            _ => Err(problem(status, body)),
        }
    }
}

fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, CheckError> {
    serde_json::from_slice(body).map_err(CheckError::Json)
}

fn problem(status: StatusCode, body: &[u8]) -> CheckError {
    #[derive(Deserialize)]
    struct ProblemDetail {
        detail: String,
    }
    let detail = json(body).map_or_else(
        |_| String::from_utf8_lossy(body).chars().take(MAX_DETAIL_CHARS).collect(),
        |problem: ProblemDetail| problem.detail,
    );
    CheckError::Status { status, detail }
}
