//! Denial, as it is passed to the hook.

use std::fmt;
use std::sync::Arc;

use slidegate_core::{Limit, Source};

use super::{SubjectNaming, Telemetry};
use slidegate_policy::{Blocked, HitMode, KeyText, Rule};
use slidegate_store::Key;

/// Denial of a request by a rule or an ad hoc limit, or in observe mode what would be one.
#[derive(Clone, Copy, Debug)]
pub struct Denial<'a> {
    pub(super) telemetry: &'a Telemetry,
    /// Rule; `None` for an ad hoc limit.
    pub rule: Option<&'a Rule>,
    /// Name of the rule, and naming of its subjects; [`AD_HOC`](super::AD_HOC) for an ad hoc limit.
    pub naming: &'a Arc<SubjectNaming>,
    /// Limit with the longest wait, of those that deny; `None` if the request was blocked.
    pub limit: Option<DeniedLimit<'a>>,
    /// Mode of the rule.
    pub mode: HitMode,
    /// Key of the subject; `None` if a blocked request has none.
    pub key: Option<&'a Key<'a>>,
    /// Requested cost.
    pub cost: u64,
    /// Exact wait until it fits; `None` if it never does, if only an upper bound is known, and if
    /// the request was blocked.
    pub retry_after_ms: Option<u64>,
    /// Upper bound of the wait, for an in-flight slot.
    pub retry_after_at_most_ms: Option<u64>,
    /// Time until the subject is idle, if nothing more is charged; `None` if no limit was
    /// evaluated.
    pub reset_after_ms: Option<u64>,
    /// Time of the decision, as Unix milliseconds.
    pub decided_at_ms: u64,
    /// Source of the decision.
    pub source: Source,
    /// Reason for which the request was blocked without evaluating a limit.
    pub blocked: Option<Blocked>,
    /// Id of the request, chosen by the sender.
    pub request_id: Option<&'a str>,
}

impl Denial<'_> {
    /// Subject, in the current display setting.
    pub fn subject(&self) -> Vec<KeyText> {
        self.key.map_or_else(Vec::new, |key| self.telemetry.display.subject(self.naming, key))
    }
}

/// Limit that denies. Its text form is its name in headers (`login-5/min`), or for an ad hoc limit
/// the limit itself (`5/min`).
#[derive(Clone, Copy, Debug)]
pub struct DeniedLimit<'a> {
    /// Name in headers; `None` for an ad hoc limit.
    pub name: Option<&'a str>,
    /// Limit.
    pub limit: &'a Limit,
}

impl fmt::Display for DeniedLimit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => f.write_str(name),
            None => self.limit.fmt(f),
        }
    }
}
