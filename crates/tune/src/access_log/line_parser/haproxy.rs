//! HAProxy's `option httplog`, with or without what syslog puts before it.
//!
//! ```text
//! Nov 15 09:46:01 host haproxy[7]: 203.0.113.7:41342 [15/Nov/2026:09:46:01.123] web api/s1 0/0/1/298/300 200 612 - - ---- 1/1/0/0/0 0/0 "GET / HTTP/1.1"
//! ```

use super::LineFields;
use super::escape::Escape;
use super::request_line;
use crate::access_log::format::TimeMeaning;
use crate::access_log::report::UnreadableReason;
use crate::access_log::timestamp::{MinuteCache, digits};

/// Length of `15/Nov/2026:09:46:01.123`.
const STAMP_BYTES: usize = 24;

pub(super) fn parse<'l>(
    line: &'l [u8],
    stamps: &mut MinuteCache,
) -> Result<LineFields<'l>, UnreadableReason> {
    let (peer, stamp, rest) = find_stamp(line).ok_or(UnreadableReason::NoTime)?;
    let stamp = stamps.clf(stamp).ok_or(UnreadableReason::NoTime)?;
    // Frontend, backend and server, timers, and the rest.
    let mut words = rest.splitn(4, |byte| *byte == b' ').skip(2);
    let timers = words.next().ok_or(UnreadableReason::OtherFormat)?;
    let rest = words.next().ok_or(UnreadableReason::OtherFormat)?;
    let (status, rest) = request_line::status(rest).ok_or(UnreadableReason::OtherFormat)?;
    let quote = memchr::memchr(b'"', rest).ok_or(UnreadableReason::NoRequestLine)?;
    let request = &rest[quote + 1..];
    // A long request line is cut, with its closing quote.
    let request = &request[..memchr::memrchr(b'"', request).unwrap_or(request.len())];
    let (method, target) = request_line::split(request).ok_or(UnreadableReason::NoRequestLine)?;
    let mut fields = LineFields::new(stamp.ms, TimeMeaning::Start, Escape::Hash);
    (fields.peer, fields.status, fields.method, fields.target) = (peer, status, method, target);
    let total = timers.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    // With a + if the line was written before the end; -1 if the request was cut off.
    fields.duration_ms = digits(total.strip_prefix(b"+").unwrap_or(total));
    Ok(fields)
}

/// Client, stamp, and what follows it.
pub(super) fn find_stamp(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let mut from = 0;
    loop {
        let bracket = from + memchr::memchr(b'[', &line[from..])?;
        let behind = bracket + 1 + STAMP_BYTES;
        if line.get(behind..behind + 2) == Some(b"] ") && line[..bracket].ends_with(b" ") {
            let before = &line[..bracket - 1];
            let peer = memchr::memrchr(b' ', before).map_or(before, |space| &before[space + 1..]);
            return Some((peer, &line[bracket + 1..behind], &line[behind + 2..]));
        }
        from = bracket + 1;
    }
}
