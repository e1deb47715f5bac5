//! Envoy's default format. It escapes nothing: a line is parsed from both ends.
//!
//! ```text
//! [2026-11-15T09:46:01.123Z] "GET / HTTP/1.1" 200 - 0 612 300 299 "x-forwarded-for" "agent" "request id" "authority" "upstream"
//! ```

use super::LineFields;
use super::escape::Escape;
use super::request_line;
use crate::access_log::format::TimeMeaning;
use crate::access_log::report::UnreadableReason;
use crate::access_log::timestamp::{MinuteCache, digits};

pub(super) fn parse<'l>(
    line: &'l [u8],
    stamps: &mut MinuteCache,
) -> Result<LineFields<'l>, UnreadableReason> {
    let line = line.strip_prefix(b"[").ok_or(UnreadableReason::OtherFormat)?;
    let bracket = memchr::memchr(b']', line).ok_or(UnreadableReason::NoTime)?;
    let stamp = stamps.iso(&line[..bracket]).ok_or(UnreadableReason::NoTime)?;
    let rest = line[bracket + 1..].strip_prefix(b" \"").ok_or(UnreadableReason::OtherFormat)?;
    let request = request_line::split_unescaped(rest).ok_or(UnreadableReason::NoRequestLine)?;
    let (method, target, rest) = request;
    let (status, rest) = request_line::status(rest).ok_or(UnreadableReason::OtherFormat)?;
    // Flags, bytes received, bytes sent, duration.
    let duration = rest.splitn(5, |byte| *byte == b' ').nth(3);
    let duration_ms = duration.and_then(digits).ok_or(UnreadableReason::NoDuration)?;
    let mut fields = LineFields::new(stamp.ms, TimeMeaning::Start, Escape::None);
    (fields.method, fields.target, fields.status) = (method, target, status);
    fields.duration_ms = Some(duration_ms);
    if let Some(quoted) = QuotedHeaders::find(rest) {
        (fields.forwarded_for, fields.user_agent) = (quoted.forwarded_for, quoted.user_agent);
        fields.host = quoted.authority;
    }
    Ok(fields)
}

struct QuotedHeaders<'l> {
    forwarded_for: &'l [u8],
    user_agent: &'l [u8],
    authority: &'l [u8],
}

impl<'l> QuotedHeaders<'l> {
    /// The first one from the left, the last three from the right; what is between them is the agent.
    fn find(rest: &'l [u8]) -> Option<Self> {
        const BETWEEN: &[u8] = b"\" \"";
        let start = memchr::memchr(b'"', rest)? + 1;
        let all = rest[start..].trim_ascii_end().strip_suffix(b"\"")?;
        let (before_upstream, _upstream) = split_last(all, BETWEEN)?;
        let (before_authority, authority) = split_last(before_upstream, BETWEEN)?;
        let (before_id, _id) = split_last(before_authority, BETWEEN)?;
        let end = memchr::memmem::find(before_id, BETWEEN)?;
        let (forwarded_for, user_agent) = (&before_id[..end], &before_id[end + BETWEEN.len()..]);
        Some(Self { forwarded_for, user_agent, authority })
    }
}

fn split_last<'l>(text: &'l [u8], between: &[u8]) -> Option<(&'l [u8], &'l [u8])> {
    let at = memchr::memmem::rfind(text, between)?;
    Some((&text[..at], &text[at + between.len()..]))
}
