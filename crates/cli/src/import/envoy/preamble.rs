//! Comments at the top of a policy that was converted from envoyproxy/ratelimit.

use super::super::policy_writer::WindowOption;
use super::super::quote::excerpt;

pub(super) fn lines(name: &str, windows: WindowOption) -> Vec<String> {
    let mut lines = vec![
        format!("Converted by `slidegate import envoy` from {}.", excerpt(name)),
        String::new(),
        "Each descriptor of a call is a request. Its entries are attributes, and there are two more: `domain`, and".to_owned(),
        "`descriptor`, the comma-separated keys of its entries in order. Over POST /v1/check the caller sets both.".to_owned(),
        "A descriptor without a rule passes. A call is denied as a whole, and denied calls are not counted.".to_owned(),
    ];
    lines.extend(match windows {
        WindowOption::Preserve => [
            "Windows are aligned to the clock, as in envoyproxy/ratelimit, and admit up to twice the quota around their".to_owned(),
            "edges. For sliding windows remove `algorithm: fixed`, or convert with --sliding.".to_owned(),
        ],
        WindowOption::Sliding => [
            "Windows slide: no minute, hour or day has more than the quota. In envoyproxy/ratelimit they are aligned to".to_owned(),
            "the clock, which is `algorithm: fixed` here.".to_owned(),
        ],
    });
    lines
}
