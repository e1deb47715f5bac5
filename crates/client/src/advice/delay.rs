//! Delay that a server demands, read from the headers of a response.
//!
//! Field lines of one name are combined before they are read, so that clients that see only the
//! combined value get the same delay. Whatever cannot be read is ignored.

use std::time::UNIX_EPOCH;

use http::{HeaderMap, StatusCode};

use super::list;

/// Resets above this number of seconds are times, not delays: 32 years, or the year 2001.
const MAX_RESET_DELAY_S: u64 = 1_000_000_000;
const DAYS: [&str; 14] = [
    "Mon",
    "Tue",
    "Wed",
    "Thu",
    "Fri",
    "Sat",
    "Sun",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// Delay that a refusal demands. `None` for other responses, and for a 503 without `Retry-After`.
pub(crate) fn demand_ms(status: StatusCode, headers: &HeaderMap, now_ms: u64) -> Option<u64> {
    match status {
        StatusCode::TOO_MANY_REQUESTS => Some(delay_ms(headers, now_ms).unwrap_or(0)),
        StatusCode::SERVICE_UNAVAILABLE => retry_after_ms(headers, now_ms),
        _ => None,
    }
}

/// Delay by the first of `Retry-After`, `RateLimit` and the resets that has one.
fn delay_ms(headers: &HeaderMap, now_ms: u64) -> Option<u64> {
    retry_after_ms(headers, now_ms).or_else(|| rate_limit_ms(headers)).or_else(|| reset_ms(headers, now_ms))
}

/// Longest delay in `Retry-After`: seconds or a date.
pub(crate) fn retry_after_ms(headers: &HeaderMap, now_ms: u64) -> Option<u64> {
    let value = combined(headers, "retry-after")?;
    let delay_ms = |member: &str| {
        let until_ms = || Some(date_ms(member)?.saturating_sub(now_ms));
        seconds(member).map(|seconds| seconds.saturating_mul(1_000)).or_else(until_ms)
    };
    members(&value).filter_map(delay_ms).max()
}

/// Longest `t` of the items of `RateLimit` that have no quota left.
fn rate_limit_ms(headers: &HeaderMap) -> Option<u64> {
    let value = combined(headers, "ratelimit")?;
    let items = list::parse(value.as_bytes())?;
    let items = items.iter().filter(|item| item.integer("r") == Some(0));
    let seconds = items.filter_map(|item| u64::try_from(item.integer("t")?).ok());
    seconds.max().map(|seconds| seconds.saturating_mul(1_000))
}

/// Latest reset, by either name: a delay, or a time if the number is too large for a delay.
fn reset_ms(headers: &HeaderMap, now_ms: u64) -> Option<u64> {
    let delay_ms = |member: &str| match seconds(member)? {
        delay @ ..=MAX_RESET_DELAY_S => Some(delay * 1_000),
        time => Some(time.saturating_mul(1_000).saturating_sub(now_ms)),
    };
    let names = ["ratelimit-reset", "x-ratelimit-reset"];
    let values = names.into_iter().filter_map(|name| combined(headers, name));
    values.filter_map(|value| members(&value).filter_map(delay_ms).max()).max()
}

/// Lines of a field as one value, as RFC 9110 combines them.
pub(crate) fn combined(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(name).iter();
    let lines: Vec<_> = lines.map(|line| String::from_utf8_lossy(trim_bytes(line.as_bytes()))).collect();
    (!lines.is_empty()).then(|| lines.join(", "))
}

/// Members of a value, separated by commas. The comma after the day of a date separates nothing.
fn members(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(value);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut commas = text.match_indices(',').map(|(at, _)| at);
        let end = commas.find(|&at| !DAYS.contains(&trim(&text[..at])));
        rest = end.map(|at| &text[at + 1..]);
        Some(trim(&text[..end.unwrap_or(text.len())]))
    })
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

fn trim_bytes(bytes: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !matches!(byte, b' ' | b'\t');
    let start = bytes.iter().position(is_text).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(is_text).map_or(start, |last| last + 1);
    &bytes[start..end]
}

/// Digits as a number; the largest one if they are too many.
fn seconds(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// HTTP date in Unix milliseconds. `httpdate` rejects those before 1970.
fn date_ms(text: &str) -> Option<u64> {
    let since = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}
