//! Header fields of an answer as typed values.

use std::cell::RefCell;
use std::sync::OnceLock;

use ::http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use slidegate_core::Wait;

use super::shared_value::shared_value;
use crate::gate::Answer;
use crate::headers::{
    Headers, ListedLimits, MAX_INTEGER, Reset, Style, summary_numbers, write_policies, write_states,
};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATE: HeaderName = HeaderName::from_static("ratelimit");
/// Limit, remaining and reset.
const LEGACY: [HeaderName; 3] = [
    HeaderName::from_static("ratelimit-limit"),
    HeaderName::from_static("ratelimit-remaining"),
    HeaderName::from_static("ratelimit-reset"),
];
const X_RATELIMIT: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];

/// Header fields of an answer.
#[derive(Clone, Default, Debug)]
pub struct HeaderFields {
    limits: LimitFields,
    retry_after_s: Option<u64>,
}

/// Header fields with the limits of an answer.
#[derive(Clone, Default, Debug)]
enum LimitFields {
    #[default]
    None,
    Draft {
        policy: HeaderValue,
        state: Option<HeaderValue>,
    },
    /// Numbers, which become values in the map: those of most answers would only be copied before.
    Numbers {
        style: NumberStyle,
        limit: HeaderValue,
        remaining: u64,
        reset: u64,
    },
}

/// Names of limit, remaining and reset.
#[derive(Clone, Copy, Debug)]
enum NumberStyle {
    Legacy,
    XRateLimit,
}

impl HeaderFields {
    /// Puts the fields into a map. The lists of `RateLimit-Policy` and `RateLimit` are extended, so
    /// that several layers report all of their limits; the other fields are replaced.
    pub fn put_into(self, headers: &mut HeaderMap) {
        match self.limits {
            LimitFields::None => {}
            LimitFields::Draft { policy, state } => {
                headers.append(POLICY, policy);
                if let Some(state) = state {
                    headers.append(STATE, state);
                }
            }
            LimitFields::Numbers { style, limit, remaining, reset } => {
                let [limit_name, remaining_name, reset_name] = match style {
                    NumberStyle::Legacy => LEGACY,
                    NumberStyle::XRateLimit => X_RATELIMIT,
                };
                headers.insert(limit_name, limit);
                headers.insert(remaining_name, number_value(remaining));
                headers.insert(reset_name, number_value(reset));
            }
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, number_value(seconds));
        }
    }
}

impl Headers {
    /// Header fields of an answer. `random` is called only where `Retry-After` is spread.
    #[inline]
    pub fn fields(&self, answer: &Answer, random: impl FnOnce() -> u64) -> HeaderFields {
        // As if there were no limits: no wait would help.
        if answer.is_blocked() {
            return HeaderFields::default();
        }
        let summary = answer.summary();
        let numbers = |style, reset| {
            let numbers = summary_numbers(answer, &summary, reset);
            numbers.map_or(LimitFields::None, |numbers| number_fields(answer, style, numbers))
        };
        let limits = match self.style {
            Style::Draft => draft_fields(answer, summary.wait),
            Style::Legacy => numbers(NumberStyle::Legacy, Reset::Delta),
            Style::XRateLimit(reset) => numbers(NumberStyle::XRateLimit, reset),
            Style::None => LimitFields::None,
        };
        let wait_ms = summary.wait.exact_ms();
        let retry_after_s = wait_ms.map(|wait_ms| self.retry_after_s(wait_ms, random).min(MAX_INTEGER));
        HeaderFields { limits, retry_after_s }
    }
}

#[inline]
fn number_fields(answer: &Answer, style: NumberStyle, [limit, remaining, reset]: [u64; 3]) -> LimitFields {
    let limit = match answer.limit_field() {
        Some(field) => field.get_or_init(|| shared_value(itoa::Buffer::new().format(limit))).clone(),
        None => number_value(limit),
    };
    LimitFields::Numbers { style, limit, remaining, reset }
}

thread_local! {
    /// Buffer of values, which keeps its memory.
    static TEXT: RefCell<String> = RefCell::new(String::with_capacity(256));
}

/// `RateLimit-Policy`, which most answers share, and `RateLimit`.
fn draft_fields(answer: &Answer, until: Wait) -> LimitFields {
    let listed = ListedLimits::new(answer);
    TEXT.with_borrow_mut(|text| {
        // Which limits of a longer list have room depends on the answer.
        let field = answer.policy_field().filter(|_| listed.is_all());
        let policy = match field.and_then(OnceLock::get) {
            Some(policy) => policy.clone(),
            None => {
                write_policies(answer, &listed, text);
                match field {
                    Some(field) => field.get_or_init(|| shared_value(text)).clone(),
                    None => text_value(text),
                }
            }
        };
        if policy.is_empty() {
            return LimitFields::None;
        }
        let state = answer.verdict().source.has_numbers().then(|| {
            write_states(answer, (&listed, until), text);
            text_value(text)
        });
        LimitFields::Draft { policy, state }
    })
}

pub(super) fn text_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("names of limits are printable ASCII")
}

/// Number of values without an allocation.
const SMALL: usize = 1_000;

/// The small numbers in three digits each, one behind the other.
static DIGITS: &str = {
    static BYTES: [u8; 3 * SMALL] = {
        let (mut bytes, mut number) = ([b'0'; 3 * SMALL], 0);
        while number < SMALL {
            bytes[3 * number] += (number / 100) as u8;
            bytes[3 * number + 1] += (number / 10 % 10) as u8;
            bytes[3 * number + 2] += (number % 10) as u8;
            number += 1;
        }
        bytes
    };
    match str::from_utf8(&BYTES) {
        Ok(text) => text,
        Err(_) => "",
    }
};

#[inline]
fn number_value(number: u64) -> HeaderValue {
    let zeros = match number {
        0..=9 => 2,
        10..=99 => 1,
        100..=999 => 0,
        // One allocation, where a conversion from the number takes two.
        _ => return text_value(itoa::Buffer::new().format(number)),
    };
    let end = 3 * (number as usize + 1);
    HeaderValue::from_static(&DIGITS[end - 3 + zeros..end])
}

#[cfg(test)]
mod tests {
    use super::number_value;

    #[test]
    fn numbers_are_written_in_digits() {
        for number in (0..2_000).chain([999_999_999_999_999, u64::MAX]) {
            assert_eq!(number_value(number), number.to_string());
        }
    }
}
