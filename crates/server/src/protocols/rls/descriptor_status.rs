//! Status of each descriptor.

use prost_types::Duration;
use slidegate::{ItemAnswer, LimitAnswer, Wait};

use super::proto::{Code, DescriptorStatus, RateLimit, Unit};
use super::units;

/// The descriptor's own answer, and the numbers of its own limits.
pub(crate) fn status(one: &ItemAnswer<'_>) -> DescriptorStatus {
    let code = if one.is_allowed() { Code::Ok } else { Code::OverLimit };
    let bare = DescriptorStatus { code: code as i32, ..DescriptorStatus::default() };
    let Some(limit) = one.tightest() else { return bare };
    let (current_limit, summary) = (Some(current_limit(&limit)), one.summary());
    match (summary.remaining, summary.wait) {
        (Some(remaining), _) => {
            let duration_until_reset = summary.reset_after_ms.map(duration);
            DescriptorStatus { current_limit, limit_remaining: fit(remaining), duration_until_reset, ..bare }
        }
        // Nobody looked: of a refusal its wait may be known, of anything else nothing is.
        (None, Wait::None) => bare,
        (None, wait) => {
            let duration_until_reset = wait.exact_ms().map(duration);
            DescriptorStatus { current_limit, duration_until_reset, ..bare }
        }
    }
}

fn current_limit(limit: &LimitAnswer<'_>) -> RateLimit {
    // A place in flight is not held for as long as its window, but at most so long.
    let unit = if limit.limit.needs_id() { Unit::Unknown } else { units::unit(limit.limit.window_ms()) };
    RateLimit { requests_per_unit: fit(limit.limit.quota()), unit: unit as i32, name: limit.name.to_owned() }
}

/// As much as there is room for.
fn fit(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn duration(ms: u64) -> Duration {
    // Windows have at most 1,000 days: the seconds fit.
    let seconds = i64::try_from(ms / 1_000).unwrap_or(i64::MAX);
    Duration { seconds, nanos: (ms % 1_000) as i32 * 1_000_000 }
}
