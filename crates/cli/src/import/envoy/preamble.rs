//! What stands at the top of a policy that was a domain.

use super::super::policy_writer::Windows;
use super::super::quote::shown;

pub(super) fn head(name: &str, windows: Windows) -> Vec<String> {
    let mut head = vec![
        format!("Made by `slidegate import envoy` from {}.", shown(name)),
        String::new(),
        "Each descriptor of a call is a request. Its entries are attributes, beside two more: `domain`, and `descriptor`,".to_owned(),
        "which is the keys of its entries in their order, with commas between. Over POST /v1/check the caller gives both.".to_owned(),
        "A descriptor that no rule is for passes. A call is refused as a whole, and what is refused is not counted.".to_owned(),
    ];
    head.extend(match windows {
        Windows::AsTheyAre => [
            "Windows are aligned to the clock, as envoyproxy/ratelimit has them, and let up to twice the quota through".to_owned(),
            "around their edges: leave `algorithm: fixed` out (or convert with --sliding) for windows that slide.".to_owned(),
        ],
        Windows::Sliding => [
            "Windows slide: no window of any minute, hour or day sees more than the quota. In envoyproxy/ratelimit they".to_owned(),
            "are aligned to the clock, which is `algorithm: fixed` here.".to_owned(),
        ],
    });
    head
}
