//! Header fields of an answer as typed values.

use std::cell::RefCell;

use ::http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use slidegate_core::Wait;
use smallvec::SmallVec;

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

/// Names and values of fields.
type FieldList = SmallVec<[(HeaderName, HeaderValue); 3]>;

/// Header fields of an answer.
#[derive(Clone, Default, Debug)]
pub struct HeaderFields(FieldList);

impl HeaderFields {
    /// Puts the fields into a map. The lists of `RateLimit-Policy` and `RateLimit` are extended, so
    /// that several layers report all of their limits; the other fields are replaced.
    pub fn put_into(self, headers: &mut HeaderMap) {
        for (name, value) in self.0 {
            if name == POLICY || name == STATE {
                headers.append(name, value);
            } else {
                headers.insert(name, value);
            }
        }
    }
}

impl Headers {
    /// Header fields of an answer. `random` is called only where `Retry-After` is spread.
    pub fn fields(&self, answer: &Answer, random: impl FnOnce() -> u64) -> HeaderFields {
        let mut fields = SmallVec::new();
        // As if there were no limits: no wait would help.
        if answer.is_blocked() {
            return HeaderFields(fields);
        }
        let summary = answer.summary();
        match self.style {
            Style::Draft => push_draft(answer, summary.wait, &mut fields),
            Style::Legacy => {
                push_numbers(LEGACY, (answer, summary_numbers(answer, &summary, Reset::Delta)), &mut fields);
            }
            Style::XRateLimit(reset) => {
                push_numbers(X_RATELIMIT, (answer, summary_numbers(answer, &summary, reset)), &mut fields);
            }
            Style::None => {}
        }
        if let Some(wait_ms) = summary.wait.exact_ms() {
            fields.push((RETRY_AFTER, number_value(self.retry_after_s(wait_ms, random).min(MAX_INTEGER))));
        }
        HeaderFields(fields)
    }
}

fn push_numbers(
    [limit_name, remaining_name, reset_name]: [HeaderName; 3],
    (answer, numbers): (&Answer, Option<[u64; 3]>),
    fields: &mut FieldList,
) {
    if let Some([limit, remaining, reset]) = numbers {
        let limit = match answer.limit_field() {
            Some(field) => field.get_or_init(|| number_value(limit)).clone(),
            None => number_value(limit),
        };
        fields.push((limit_name, limit));
        fields.push((remaining_name, number_value(remaining)));
        fields.push((reset_name, number_value(reset)));
    }
}

thread_local! {
    /// Buffer of values, which keeps its memory.
    static TEXT: RefCell<String> = RefCell::new(String::with_capacity(256));
}

/// Pushes `RateLimit-Policy`, which most answers share, and `RateLimit`.
fn push_draft(answer: &Answer, until: Wait, fields: &mut FieldList) {
    let listed = ListedLimits::new(answer);
    TEXT.with_borrow_mut(|text| {
        let render = |text: &mut String| {
            write_policies(answer, &listed, text);
            text_value(text)
        };
        // Which limits of a longer list have room depends on the answer.
        let policy = match answer.policy_field().filter(|_| listed.is_all()) {
            Some(field) => field.get_or_init(|| render(text)).clone(),
            None => render(text),
        };
        if policy.is_empty() {
            return;
        }
        fields.push((POLICY, policy));
        if answer.verdict().source.has_numbers() {
            write_states(answer, (&listed, until), text);
            fields.push((STATE, text_value(text)));
        }
    });
}

fn text_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("names of limits are printable ASCII")
}

/// Number of values without an allocation.
const SMALL: usize = 1_000;

/// Digits of the small numbers, with leading zeros.
static DIGITS: [[u8; 3]; SMALL] = {
    let (mut all, mut number) = ([[b'0'; 3]; SMALL], 0);
    while number < SMALL {
        all[number] =
            [b'0' + (number / 100) as u8, b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    all
};

#[inline]
fn number_value(number: u64) -> HeaderValue {
    let digits = match number {
        0..=9 => &DIGITS[number as usize][2..],
        10..=99 => &DIGITS[number as usize][1..],
        100..=999 => &DIGITS[number as usize][..],
        // One allocation, where a conversion from the number takes two.
        _ => return text_value(itoa::Buffer::new().format(number)),
    };
    HeaderValue::from_static(str::from_utf8(digits).unwrap_or_default())
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
