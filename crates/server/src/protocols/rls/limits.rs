//! Ad hoc limits of descriptors.

use std::time::Duration;

use slidegate::Limit;

use super::failure::Failure;
use super::proto::RateLimitOverride;
use super::units;

/// Limit of a descriptor, a log; `None` if it admits nothing.
pub(crate) fn limit(rate: &RateLimitOverride) -> Result<Option<Limit>, Failure> {
    let Some(window_ms) = units::window_ms(rate.unit) else {
        let why = format!("invalid unit {} of a descriptor's limit, expected one such as MINUTE", rate.unit);
        return Err(Failure::Invalid(why));
    };
    if rate.requests_per_unit == 0 {
        return Ok(None);
    }
    let limit = Limit::new(u64::from(rate.requests_per_unit), Duration::from_millis(window_ms));
    limit.map(Some).map_err(|error| Failure::Invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quota_and_unit_is_a_limit() {
        for unit in 1..=7 {
            for requests_per_unit in [1, 128, 129, u32::MAX] {
                let limit = limit(&RateLimitOverride { requests_per_unit, unit });
                let limit = limit.expect("a limit").expect("one that admits something");
                assert_eq!(limit.quota(), u64::from(requests_per_unit));
                assert_eq!(Some(limit.window_ms()), units::window_ms(unit));
            }
            assert_eq!(limit(&RateLimitOverride { requests_per_unit: 0, unit }), Ok(None));
        }
        for unit in [-1, 0, 8] {
            assert!(limit(&RateLimitOverride { requests_per_unit: 1, unit }).is_err());
        }
    }
}
