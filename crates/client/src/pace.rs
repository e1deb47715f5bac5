//! Pace of requests that makes the rest of a quota last until it is renewed.

use http::HeaderMap;

use crate::advice::delay::combined;
use crate::advice::list::{self, ListItem};

/// Requests are paced when less than one part in this many is left of a quota.
const PACED_PART: i64 = 10;

/// Interval between requests, as the `RateLimit` of a response suggests it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Interval {
    pub(crate) interval_ms: u64,
    /// Time until the quota is renewed and the interval loses its meaning.
    pub(crate) window_ms: u64,
}

impl Interval {
    /// Longest interval of the limits that are nearly used up: `t / (r + 1)` for a limit with `r`
    /// of its quota left for `t` seconds. The quota is in `RateLimit-Policy`, under the same name.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let (limits, policies) = (combined(headers, "ratelimit")?, combined(headers, "ratelimit-policy")?);
        let policies = list::parse(policies.as_bytes())?;
        let quota = |name: &[u8]| policies.iter().find(|policy| policy.name == name)?.integer("q");
        let interval = |limit: &ListItem<'_>| {
            let (left, seconds) = (limit.integer("r")?, u64::try_from(limit.integer("t")?).ok()?);
            let is_paced = left.checked_mul(PACED_PART)? < quota(limit.name)?;
            let window_ms = seconds * 1_000;
            is_paced.then_some(Self { interval_ms: window_ms / (u64::try_from(left).ok()? + 1), window_ms })
        };
        list::parse(limits.as_bytes())?
            .iter()
            .filter_map(interval)
            .max_by_key(|interval| interval.interval_ms)
    }
}
