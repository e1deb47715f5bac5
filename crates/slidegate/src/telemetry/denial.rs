//! A denial, as it is told to whoever wants to know of every one.

use std::fmt;
use std::sync::Arc;

use slidegate_core::{Limit, Source};

use super::{SubjectNaming, Telemetry};
use slidegate_policy::{Blocked, HitMode, KeyText, Rule};
use slidegate_store::Key;

/// A rule, or a limit that came along, that refuses a request; or would, if it were enforced.
#[derive(Clone, Copy, Debug)]
pub struct Denial<'a> {
    pub(super) telemetry: &'a Telemetry,
    /// The rule; none has a limit that came along.
    pub rule: Option<&'a Rule>,
    /// What the rule is called, and its subjects; limits that came along are called [`AD_HOC`](super::AD_HOC).
    pub naming: &'a Arc<SubjectNaming>,
    /// Of the limits that refuse, the one that has to be waited for longest; `None` if no limit was asked.
    pub limit: Option<DeniedLimit<'a>>,
    /// Whether the rule is enforced.
    pub mode: HitMode,
    /// Whom it counts for; `None` where the rule bars a request that has no subject.
    pub key: Option<&'a Key<'a>>,
    /// What was asked for.
    pub cost: u64,
    /// After how long it would fit; `None` if it never does, where only an upper bound is known, and where no limit was asked.
    pub retry_after_ms: Option<u64>,
    /// After how long at most it would fit, where a place in flight is awaited.
    pub retry_after_at_most_ms: Option<u64>,
    /// After how long the subject is as if never seen, if nothing more comes; `None` if nobody looked.
    pub reset_after_ms: Option<u64>,
    /// When it was decided, as Unix milliseconds.
    pub decided_at_ms: u64,
    /// Decider: the store, or this node by its share.
    pub source: Source,
    /// Why it was refused without asking any limit.
    pub barred: Option<Blocked>,
    /// Under which id the sender knows the request.
    pub request_id: Option<&'a str>,
}

impl Denial<'_> {
    /// Whom it counts for, as subjects are to be shown.
    pub fn subject(&self) -> Vec<KeyText> {
        self.key.map_or_else(Vec::new, |key| self.telemetry.display.subject(self.naming, key))
    }
}

/// A limit that refuses. It is written as in headers (`login-5/min`), or as what it is if it came along (`5/min`).
#[derive(Clone, Copy, Debug)]
pub struct DeniedLimit<'a> {
    /// What it is called in headers; none has one that came along.
    pub name: Option<&'a str>,
    /// The limit.
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
