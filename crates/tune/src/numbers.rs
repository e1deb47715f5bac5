//! Numbers, shares and times as text.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use slidegate::policy::KeyText;

use crate::printable::printable;
use crate::replay::report::CountRange;

const DAY_MS: u64 = 86_400_000;

/// Count with separators: `1,145,863`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Range: `9–21`, or one number if both ends are equal.
pub fn range(range: CountRange) -> String {
    match range.is_exact() {
        true => count(range.high),
        false => format!("{}–{}", count(range.low), count(range.high)),
    }
}

/// Share as a percentage, or nothing of nothing.
pub fn share(part: u64, all: u64) -> String {
    if all == 0 { String::new() } else { percent(100.0 * part as f64 / all as f64) }
}

/// Percentage with two digits that matter: `0.71%`, `12%`, `0.0012%`.
pub fn percent(value: f64) -> String {
    let decimals = match value {
        0.0 => 0,
        value if value >= 10.0 => 0,
        value if value >= 1.0 => 1,
        value => ((-value.log10()).ceil() as usize + 1).min(6),
    };
    format!("{value:.decimals$}%")
}

/// Time span: `4.1 s`, `250 ms`.
pub fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        _ => format!("{:.1} s", ms as f64 / 1_000.0),
    }
}

/// Key of a subject: its values.
pub fn key(parts: &[KeyText]) -> String {
    let part = |part: &KeyText| match &part.value {
        Some(value) => printable(value),
        None => format!("(no {})", part.attribute),
    };
    let text = parts.iter().map(part).collect::<Vec<String>>().join(" ");
    if text.is_empty() { "all requests".to_owned() } else { text }
}

/// Times in a time zone.
#[derive(Clone, Debug)]
pub struct TimeText {
    zone: TimeZone,
}

impl TimeText {
    /// Times in this zone.
    pub fn new(zone: &TimeZone) -> Self {
        Self { zone: zone.clone() }
    }

    /// From and to: `15 Nov 09:46 – 10:34`, with both dates if they differ.
    pub fn span(&self, from_ms: u64, to_ms: u64) -> String {
        let end = if self.date(from_ms) == self.date(to_ms) { "%H:%M" } else { "%-d %b %H:%M" };
        format!("{} – {}", self.at(from_ms, "%-d %b %H:%M"), self.at(to_ms, end))
    }

    /// From and to, within a day as times of day: `09:46–10:34`.
    pub fn clock_span(&self, from_ms: u64, to_ms: u64) -> String {
        let format = if to_ms - from_ms < DAY_MS { "%H:%M" } else { "%-d %b" };
        format!("{}–{}", self.at(from_ms, format), self.at(to_ms, format))
    }

    /// Date and time of day, to the second.
    pub fn clock(&self, at_ms: u64) -> String {
        self.at(at_ms, "%-d %b %H:%M:%S")
    }

    fn date(&self, at_ms: u64) -> String {
        self.at(at_ms, "%F")
    }

    fn at(&self, at_ms: u64, format: &str) -> String {
        let timestamp = i64::try_from(at_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        match timestamp {
            Some(timestamp) => timestamp.to_zoned(self.zone.clone()).strftime(format).to_string(),
            None => format!("{at_ms} ms"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_separators() {
        let rows = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_145_863, "1,145,863")];
        for (number, expected) in rows {
            assert_eq!(count(number), expected);
        }
        assert_eq!(range(CountRange { low: 9, high: 1_021 }), "9–1,021");
        assert_eq!(range(CountRange::exact(41)), "41");
    }

    #[test]
    fn shares_have_two_digits_that_matter() {
        let rows = [
            (812, 114_502, "0.71%"),
            (66, 229_101, "0.029%"),
            (0, 10, "0%"),
            (1, 1, "100%"),
            (1, 40, "2.5%"),
            (1, 8, "12%"),
            (12, 1_145_863, "0.0010%"),
            (1, 0, ""),
        ];
        for (part, all, expected) in rows {
            assert_eq!(share(part, all), expected, "{part} of {all}");
        }
    }

    #[test]
    fn times_are_those_of_the_zone() {
        let (utc, berlin) =
            (TimeText::new(&TimeZone::UTC), TimeText::new(&TimeZone::fixed(jiff::tz::offset(1))));
        let from_ms = 1_763_199_960_000;
        assert_eq!(utc.span(from_ms, from_ms + 48 * 60_000), "15 Nov 09:46 – 10:34");
        assert_eq!(berlin.span(from_ms, from_ms + 48 * 60_000), "15 Nov 10:46 – 11:34");
        assert_eq!(utc.span(from_ms, from_ms + DAY_MS), "15 Nov 09:46 – 16 Nov 09:46");
        assert_eq!(utc.clock_span(from_ms, from_ms + 48 * 60_000), "09:46–10:34");
        assert_eq!(utc.clock_span(from_ms, from_ms + 9 * DAY_MS), "15 Nov–24 Nov");
        assert_eq!(utc.clock(from_ms + 11_000), "15 Nov 09:46:11");
    }

    #[test]
    fn a_subject_controls_no_terminal() {
        let part =
            |value: Option<&str>| KeyText { attribute: "user".to_owned(), value: value.map(str::to_owned) };
        assert_eq!(key(&[part(Some("al\x1b[31mice"))]), "al\\u{1b}[31mice");
        assert_eq!(key(&[part(Some("acme")), part(None)]), "acme (no user)");
        assert_eq!(key(&[]), "all requests");
    }
}
