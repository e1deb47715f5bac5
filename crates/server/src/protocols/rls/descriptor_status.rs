//! Status of each descriptor.

use prost_types::Duration;
use slidegate::{ItemAnswer, LimitAnswer, Wait};

use super::proto::{Code, DescriptorStatus, RateLimit, Unit};
use super::units;

/// Status of a descriptor, with the numbers of its own limits.
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
        // Without numbers only a refusal may have a wait.
        (None, Wait::None) => bare,
        (None, wait) => {
            let duration_until_reset = wait.exact_ms().map(duration);
            DescriptorStatus { current_limit, duration_until_reset, ..bare }
        }
    }
}

fn current_limit(limit: &LimitAnswer<'_>) -> RateLimit {
    // A slot in flight is released before its window ends, at the latest then.
    let unit = if limit.limit.needs_id() { Unit::Unknown } else { units::unit(limit.limit.window_ms()) };
    RateLimit { requests_per_unit: fit(limit.limit.quota()), unit: unit as i32, name: limit.name.to_owned() }
}

/// Number, at most the largest of 32 bits.
fn fit(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn duration(ms: u64) -> Duration {
    // Windows have at most 1,000 days: the seconds fit.
    let seconds = i64::try_from(ms / 1_000).unwrap_or(i64::MAX);
    Duration { seconds, nanos: (ms % 1_000) as i32 * 1_000_000 }
}
