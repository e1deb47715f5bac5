//! Combined format of nginx and Apache, and what their directives add to it.
//!
//! ```text
//! 203.0.113.7 - alice [15/Nov/2026:09:46:01 +0000] "GET / HTTP/1.1" 200 612 "https://referer" "agent"
//! … "x-forwarded-for" host="example.org" 1763199961.123 0.300
//! … "x-forwarded-for" host="example.org" start_ms=1763199960823 duration_us=300123
//! ```

use super::escape::{Escape, quote_end};
use super::request_line;
use super::{LineFields, QuotedFields};
use crate::access_log::format::TimeMeaning;
use crate::access_log::report::UnreadableReason;
use crate::access_log::timestamp::{CLF_BYTES, MinuteCache, digits, seconds_ms};

/// Start of a line in the common log format: who, when.
pub(super) struct LineStart<'l> {
    pub(super) peer: &'l [u8],
    pub(super) remote_user: &'l [u8],
    pub(super) stamp_ms: u64,
    /// What follows the opening quote of the request line.
    pub(super) rest: &'l [u8],
}

/// Finds the stamp, which is in brackets and followed by a quote; a user's name may have brackets too.
#[inline]
pub(super) fn start<'l>(line: &'l [u8], stamps: &mut MinuteCache) -> Result<LineStart<'l>, UnreadableReason> {
    let space = memchr::memchr(b' ', line).ok_or(UnreadableReason::OtherFormat)?;
    let mut from = space;
    loop {
        // Most requests have no user.
        let bracket = match &line[from..] {
            [b' ', b'-', b' ', b'-', b' ', b'[', ..] => from + 5,
            rest => from + memchr::memchr(b'[', rest).ok_or(UnreadableReason::NoTime)?,
        };
        let behind = bracket + 1 + CLF_BYTES;
        if line.get(behind..behind + 3) == Some(b"] \"") {
            let stamp = stamps.clf(&line[bracket + 1..behind]).ok_or(UnreadableReason::NoTime)?;
            let remote_user = match &line[space..bracket] {
                // Apache writes an empty name in quotes.
                [b' ', b'-', b' ', user @ .., b' '] if user != b"\"\"" => user,
                _ => b"",
            };
            let rest = &line[behind + 3..];
            return Ok(LineStart { peer: &line[..space], remote_user, stamp_ms: stamp.ms, rest });
        }
        from = bracket + 1;
    }
}

/// Parses a line of the combined format.
#[inline]
pub(super) fn parse<'l>(
    line: &'l [u8],
    stamps: &mut MinuteCache,
    time_meaning: TimeMeaning,
    quoted: QuotedFields,
) -> Result<LineFields<'l>, UnreadableReason> {
    let (mut fields, rest) = parse_request(line, stamps, time_meaning)?;
    if quoted == QuotedFields::Needed {
        parse_quoted(rest, &mut fields);
    }
    Ok(fields)
}

/// Parses a line that ends in `$msec $request_time`.
#[inline]
pub(super) fn parse_timed<'l>(
    line: &'l [u8],
    stamps: &mut MinuteCache,
    quoted: QuotedFields,
) -> Result<LineFields<'l>, UnreadableReason> {
    let (mut fields, rest) = parse_request(line, stamps, TimeMeaning::End)?;
    let (rest, duration) = split_last(rest).ok_or(UnreadableReason::NoDuration)?;
    let (rest, end) = split_last(rest).ok_or(UnreadableReason::NoTime)?;
    fields.duration_ms = Some(seconds_ms(duration).ok_or(UnreadableReason::NoDuration)?);
    fields.stamp_ms = seconds_ms(end).ok_or(UnreadableReason::NoTime)?;
    if quoted == QuotedFields::Needed {
        parse_quoted(rest, &mut fields);
    }
    Ok(fields)
}

/// Parses a line that has `start_ms=… duration_us=…` behind the quoted fields.
pub(super) fn parse_named_times<'l>(
    line: &'l [u8],
    stamps: &mut MinuteCache,
) -> Result<LineFields<'l>, UnreadableReason> {
    let (mut fields, rest) = parse_request(line, stamps, TimeMeaning::Start)?;
    let (rest, duration) = split_last(rest).ok_or(UnreadableReason::NoDuration)?;
    let (rest, start) = split_last(rest).ok_or(UnreadableReason::NoTime)?;
    let duration_us = duration.strip_prefix(b"duration_us=").and_then(digits);
    fields.duration_ms = Some(duration_us.ok_or(UnreadableReason::NoDuration)? / 1000);
    fields.stamp_ms = start.strip_prefix(b"start_ms=").and_then(digits).ok_or(UnreadableReason::NoTime)?;
    parse_quoted(rest, &mut fields);
    Ok(fields)
}

/// Whether what follows the status ends in `$msec $request_time`.
pub(super) fn is_timed(rest: &[u8]) -> bool {
    let times = split_last(rest).and_then(|(rest, duration)| Some((split_last(rest)?.1, duration)));
    times.is_some_and(|(end, duration)| {
        end.contains(&b'.')
            && end.len() >= 12
            && duration.contains(&b'.')
            && seconds_ms(end).is_some()
            && seconds_ms(duration).is_some()
    })
}

/// Whether what follows the status ends in `start_ms=… duration_us=…`.
pub(super) fn has_named_times(rest: &[u8]) -> bool {
    let times = split_last(rest).and_then(|(rest, duration)| Some((split_last(rest)?.1, duration)));
    times.is_some_and(|(start, duration)| {
        start.starts_with(b"start_ms=") && duration.starts_with(b"duration_us=")
    })
}

/// Parses a line up to its status. What follows it is the rest.
#[inline]
pub(super) fn parse_request<'l>(
    line: &'l [u8],
    stamps: &mut MinuteCache,
    time_meaning: TimeMeaning,
) -> Result<(LineFields<'l>, &'l [u8]), UnreadableReason> {
    let LineStart { peer, remote_user, stamp_ms, rest } = start(line, stamps)?;
    let quote = quote_end(rest).ok_or(UnreadableReason::OtherFormat)?;
    let (method, target) = request_line::split(&rest[..quote]).ok_or(UnreadableReason::NoRequestLine)?;
    let rest = rest[quote + 1..].strip_prefix(b" ").ok_or(UnreadableReason::OtherFormat)?;
    let (status, rest) = request_line::status(rest).ok_or(UnreadableReason::OtherFormat)?;
    let mut fields = LineFields::new(stamp_ms, time_meaning, Escape::Backslash);
    (fields.peer, fields.remote_user, fields.status) = (peer, remote_user, status);
    (fields.method, fields.target) = (method, target);
    if memchr::memchr(b'\\', target).is_none() {
        fields.target_escape = Escape::None;
    }
    Ok((fields, rest))
}

/// Parses `612 "referer" "agent" "x-forwarded-for" name=value`, as far as there is something.
fn parse_quoted<'l>(rest: &'l [u8], fields: &mut LineFields<'l>) {
    let Some(quote) = memchr::memchr(b'"', rest) else { return };
    let mut rest = &rest[quote..];
    let quoted = [&mut fields.referer, &mut fields.user_agent, &mut fields.forwarded_for];
    for field in quoted {
        let Some(inside) = rest.trim_ascii_start().strip_prefix(b"\"") else { break };
        let Some(end) = quote_end(inside) else { break };
        *field = &inside[..end];
        rest = &inside[end + 1..];
    }
    fields.named = rest;
    fields.host = super::field_source::named_field(rest, b"host");
}

/// Last word of a text, and what is before it.
#[inline]
fn split_last(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_end();
    let space = memchr::memrchr(b' ', text)?;
    Some((&text[..space], &text[space + 1..]))
}
