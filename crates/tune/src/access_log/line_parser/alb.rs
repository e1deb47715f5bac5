//! Load balancers for applications of AWS.
//!
//! ```text
//! https 2026-11-15T09:46:01.423Z app/web/50dc 203.0.113.7:41342 10.0.0.1:80 0.000 0.300 0.000 200 200 34 612 "GET https://example.org:443/ HTTP/1.1" "agent" - - arn "trace" "domain" "certificate" 0 2026-11-15T09:46:01.123Z …
//! ```

use super::LineFields;
use super::escape::{Escape, quote_end};
use super::request_line;
use crate::access_log::format::TimeMeaning;
use crate::access_log::report::UnreadableReason;
use crate::access_log::timestamp::{MinuteCache, seconds_ms};

pub(super) fn parse<'l>(
    line: &'l [u8],
    stamps: &mut MinuteCache,
) -> Result<LineFields<'l>, UnreadableReason> {
    let mut words = Words { rest: line };
    // Type, end, load balancer.
    words.skip(3).ok_or(UnreadableReason::OtherFormat)?;
    let peer = words.next().ok_or(UnreadableReason::OtherFormat)?;
    // Target.
    words.skip(1).ok_or(UnreadableReason::OtherFormat)?;
    let mut parts = [None; 3];
    for part in &mut parts {
        // -1 if that part did not take place.
        *part = seconds_ms(words.next().ok_or(UnreadableReason::OtherFormat)?);
    }
    let (status, rest) = request_line::status(words.rest).ok_or(UnreadableReason::OtherFormat)?;
    words.rest = rest;
    // Status of the target, bytes received, bytes sent.
    words.skip(3).ok_or(UnreadableReason::OtherFormat)?;
    let request = words.next_quoted().ok_or(UnreadableReason::NoRequestLine)?;
    let user_agent = words.next_quoted().ok_or(UnreadableReason::OtherFormat)?;
    // Cipher, protocol, group of targets, trace, domain, certificate, priority of the rule.
    for _ in 0..7 {
        words.next_quoted().ok_or(UnreadableReason::OtherFormat)?;
    }
    let stamp = words.next().and_then(|stamp| stamps.iso(stamp)).ok_or(UnreadableReason::NoTime)?;
    let (method, target) = request_line::split(request).ok_or(UnreadableReason::NoRequestLine)?;
    let mut fields = LineFields::new(stamp.ms, TimeMeaning::Start, Escape::Backslash);
    (fields.peer, fields.status, fields.method, fields.target) = (peer, status, method, target);
    fields.user_agent = user_agent;
    fields.duration_ms = parts.into_iter().sum();
    Ok(fields)
}

/// Words of a line, of which some are quoted.
struct Words<'l> {
    rest: &'l [u8],
}

impl<'l> Words<'l> {
    fn next(&mut self) -> Option<&'l [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b' ', self.rest).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        Some(word)
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.next().map(drop))
    }

    fn next_quoted(&mut self) -> Option<&'l [u8]> {
        let Some(inside) = self.rest.strip_prefix(b"\"") else { return self.next() };
        let end = quote_end(inside)?;
        self.rest = inside[end + 1..].strip_prefix(b" ").unwrap_or_default();
        Some(&inside[..end])
    }
}
