//! Time stamps. Consecutive lines share the minute: only what differs is parsed again.

use jiff::civil;
use jiff::tz::{Offset, TimeZone};

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// Length of `15/Nov/2026:09:46:01 +0000`.
pub(super) const CLF_BYTES: usize = 26;

/// Stamp as Unix milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LogTime {
    pub(super) ms: u64,
    /// Whether the stamp has parts of a second.
    pub(super) has_fraction: bool,
}

/// Minute that was parsed last.
#[derive(Debug)]
pub(super) struct MinuteCache {
    /// Text up to the minute.
    minute: Vec<u8>,
    /// Text of the time zone.
    zone: Vec<u8>,
    /// Its start in Unix seconds.
    start_s: i64,
    /// Zone of stamps that have none.
    default_zone: TimeZone,
    /// Stamp in the common log format that was parsed last: lines of a second share it.
    last: ([u8; CLF_BYTES], LogTime),
}

impl MinuteCache {
    pub(super) fn new(default_zone: TimeZone) -> Self {
        let last = ([0; CLF_BYTES], LogTime { ms: 0, has_fraction: false });
        Self { minute: Vec::new(), zone: Vec::new(), start_s: 0, default_zone, last }
    }

    /// Parses `15/Nov/2026:09:46:01 +0000`, with parts of a second before the zone, or without a zone.
    #[inline]
    pub(super) fn clf(&mut self, stamp: &[u8]) -> Option<LogTime> {
        let Ok(whole) = <&[u8; CLF_BYTES]>::try_from(stamp) else { return self.stamp(stamp, 17, clf_minute) };
        if *whole != self.last.0 {
            self.last = (*whole, self.stamp(stamp, 17, clf_minute)?);
        }
        Some(self.last.1)
    }

    /// Parses `2026-11-15T09:46:01.123Z`, with or without parts of a second and a zone.
    #[inline]
    pub(super) fn iso(&mut self, stamp: &[u8]) -> Option<LogTime> {
        self.stamp(stamp, 16, iso_minute)
    }

    #[inline]
    fn stamp(
        &mut self,
        stamp: &[u8],
        minute_bytes: usize,
        parse: fn(&[u8]) -> Option<civil::DateTime>,
    ) -> Option<LogTime> {
        let (minute, rest) = stamp.split_at_checked(minute_bytes)?;
        let [b':', tens, ones, rest @ ..] = rest else { return None };
        let second = two_digits(*tens, *ones).filter(|second| *second <= 60)?;
        let (fraction_ms, rest) = fraction(rest);
        if minute != self.minute || rest != self.zone {
            let start_s = self.minute_start(parse(minute)?, rest)?;
            self.minute.clear();
            self.minute.extend_from_slice(minute);
            self.zone.clear();
            self.zone.extend_from_slice(rest);
            self.start_s = start_s;
        }
        let ms = u64::try_from(self.start_s + i64::from(second)).ok()? * 1000;
        Some(LogTime { ms: ms + u64::from(fraction_ms.unwrap_or(0)), has_fraction: fraction_ms.is_some() })
    }

    #[cold]
    fn minute_start(&self, minute: civil::DateTime, zone: &[u8]) -> Option<i64> {
        let zone = match zone.trim_ascii_start() {
            b"" => self.default_zone.clone(),
            zone => parse_offset(zone)?.to_time_zone(),
        };
        Some(minute.to_zoned(zone).ok()?.timestamp().as_second())
    }
}

/// Parts of a second in milliseconds, cut, and what follows.
#[inline]
fn fraction(text: &[u8]) -> (Option<u32>, &[u8]) {
    let [b'.' | b',', digits @ ..] = text else { return (None, text) };
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let ms = (0..3).fold(0, |ms, at| ms * 10 + if at < count { u32::from(digits[at] - b'0') } else { 0 });
    ((count > 0).then_some(ms), &digits[count..])
}

#[inline]
fn two_digits(tens: u8, ones: u8) -> Option<u8> {
    (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| (tens - b'0') * 10 + ones - b'0')
}

fn four_digits(digits: &[u8]) -> Option<i16> {
    let high = two_digits(*digits.first()?, *digits.get(1)?)?;
    let low = two_digits(*digits.get(2)?, *digits.get(3)?)?;
    Some(i16::from(high) * 100 + i16::from(low))
}

/// `15/Nov/2026:09:46`.
fn clf_minute(text: &[u8]) -> Option<civil::DateTime> {
    let [d1, d2, b'/', m1, m2, m3, b'/', y1, y2, y3, y4, b':', h1, h2, b':', n1, n2] = *text else {
        return None;
    };
    let month = MONTHS.iter().position(|month| **month == [m1, m2, m3])? as i8 + 1;
    civil_minute(
        four_digits(&[y1, y2, y3, y4])?,
        month,
        [two_digits(d1, d2)?, two_digits(h1, h2)?, two_digits(n1, n2)?],
    )
}

/// `2026-11-15T09:46`.
fn iso_minute(text: &[u8]) -> Option<civil::DateTime> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T' | b't' | b' ', h1, h2, b':', n1, n2] = *text else {
        return None;
    };
    let month = two_digits(m1, m2)? as i8;
    civil_minute(
        four_digits(&[y1, y2, y3, y4])?,
        month,
        [two_digits(d1, d2)?, two_digits(h1, h2)?, two_digits(n1, n2)?],
    )
}

fn civil_minute(year: i16, month: i8, [day, hour, minute]: [u8; 3]) -> Option<civil::DateTime> {
    civil::DateTime::new(year, month, day as i8, hour as i8, minute as i8, 0, 0).ok()
}

/// `Z`, `+0200`, `+02:00` or `+02`.
fn parse_offset(text: &[u8]) -> Option<Offset> {
    let (sign, digits) = match text {
        b"Z" | b"z" => return Some(Offset::UTC),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match *digits {
        [h1, h2] => (two_digits(h1, h2)?, 0),
        [h1, h2, m1, m2] | [h1, h2, b':', m1, m2] => (two_digits(h1, h2)?, two_digits(m1, m2)?),
        _ => return None,
    };
    Offset::from_seconds(sign * (i32::from(hours) * 3600 + i32::from(minutes) * 60)).ok()
}

/// Zone by its name or as an offset.
pub(super) fn parse_zone(text: &str) -> Option<TimeZone> {
    match parse_offset(text.as_bytes()) {
        Some(offset) => Some(offset.to_time_zone()),
        None if text == "UTC" => Some(TimeZone::UTC),
        None => TimeZone::get(text).ok(),
    }
}

/// Seconds with or without parts, such as `1763199961.123`, in milliseconds, rounded.
pub(super) fn seconds_ms(text: &[u8]) -> Option<u64> {
    let dot = text.iter().position(|byte| *byte == b'.').unwrap_or(text.len());
    let (whole, parts) = (&text[..dot], text.get(dot + 1..).unwrap_or_default());
    let whole = digits(whole)?;
    if !parts.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |at: usize| parts.get(at).map_or(0, |byte| u64::from(byte - b'0'));
    let ms = digit(0) * 100 + digit(1) * 10 + digit(2) + u64::from(digit(3) >= 5);
    whole.checked_mul(1000)?.checked_add(ms)
}

/// Whole number of 1 to 18 digits.
#[inline]
pub(super) fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter()
        .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u64::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> MinuteCache {
        MinuteCache::new(TimeZone::UTC)
    }

    #[test]
    fn stamps() {
        const NOON: u64 = 1_763_199_961_000;
        let rows = [
            ("15/Nov/2025:09:46:01 +0000", Some(NOON)),
            ("15/Nov/2025:10:46:01 +0100", Some(NOON)),
            ("15/Nov/2025:04:16:01 -0530", Some(NOON)),
            ("15/Nov/2025:09:46:01.655", Some(NOON + 655)),
            ("31/Dec/1969:23:59:59 +0000", None),
            ("31/Feb/2025:23:59:59 +0000", None),
            ("15/Nov/2025:09:46:61 +0000", None),
            ("15/Nov/2025:09:46:0x +0000", None),
            ("15/Nov/2025:09:46:01 0000", None),
            ("15/Nov/2025", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(cache().clf(text.as_bytes()).map(|time| time.ms), expected, "{text}");
        }
        let rows = [
            ("2025-11-15T09:46:01Z", Some((NOON, false))),
            ("2025-11-15T09:46:01.123456789Z", Some((NOON + 123, true))),
            ("2025-11-15T09:46:01.5+00:00", Some((NOON + 500, true))),
            ("2025-11-15 10:46:01+01", Some((NOON, false))),
            ("2025-11-15T09:46:01", Some((NOON, false))),
            ("2025-13-15T09:46:01", None),
        ];
        for (text, expected) in rows {
            let time = cache().iso(text.as_bytes()).map(|time| (time.ms, time.has_fraction));
            assert_eq!(time, expected, "{text}");
        }
    }

    #[test]
    fn a_minute_is_parsed_again_when_its_text_or_its_zone_changes() {
        let mut cache = cache();
        let rows = [
            ("15/Nov/2025:09:46:01 +0000", 1_763_199_961_000),
            ("15/Nov/2025:09:46:59 +0000", 1_763_200_019_000),
            ("15/Nov/2025:09:46:59 +0100", 1_763_196_419_000),
            ("15/Nov/2025:09:47:00 +0100", 1_763_196_420_000),
            ("15/Nov/2025:09:46:01 +0000", 1_763_199_961_000),
        ];
        for (text, expected) in rows {
            assert_eq!(cache.clf(text.as_bytes()).map(|time| time.ms), Some(expected), "{text}");
        }
    }

    #[test]
    fn zones() {
        let berlin = parse_zone("+02:00").expect("an offset");
        let time = MinuteCache::new(berlin).clf(b"15/Nov/2025:11:46:01.5");
        assert_eq!(time, Some(LogTime { ms: 1_763_199_961_500, has_fraction: true }));
        assert!(parse_zone("Nowhere/Land").is_none());
    }

    #[test]
    fn seconds() {
        let rows = [
            ("1763199961.123", Some(1_763_199_961_123)),
            ("0.3", Some(300)),
            ("0.0005", Some(1)),
            ("7", Some(7000)),
            ("-1", None),
            ("1.x", None),
            ("", None),
            ("99999999999999999999", None),
        ];
        for (text, expected) in rows {
            assert_eq!(seconds_ms(text.as_bytes()), expected, "{text}");
        }
    }
}
