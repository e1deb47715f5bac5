//! Traefik's common log format. It escapes nothing: a line is parsed from both ends.
//!
//! ```text
//! 203.0.113.7 - alice [15/Nov/2026:09:46:01 +0000] "GET / HTTP/1.1" 200 612 "referer" "agent" 7 "router" "url" 300ms
//! ```

use super::combined::{self, LineStart};
use super::escape::Escape;
use super::request_line;
use super::{LineFields, QuotedFields};
use crate::access_log::format::TimeMeaning;
use crate::access_log::report::UnreadableReason;
use crate::access_log::timestamp::{MinuteCache, digits};

pub(super) fn parse<'l>(
    line: &'l [u8],
    stamps: &mut MinuteCache,
    quoted: QuotedFields,
) -> Result<LineFields<'l>, UnreadableReason> {
    let LineStart { peer, remote_user, stamp_ms, rest } = combined::start(line, stamps)?;
    let request = request_line::split_unescaped(rest).ok_or(UnreadableReason::NoRequestLine)?;
    let (method, target, rest) = request;
    let (status, rest) = request_line::status(rest).ok_or(UnreadableReason::OtherFormat)?;
    let mut fields = LineFields::new(stamp_ms, TimeMeaning::Start, Escape::None);
    (fields.peer, fields.remote_user, fields.status) = (peer, remote_user, status);
    (fields.method, fields.target) = (method, target);
    fields.duration_ms = Some(duration_ms(rest).ok_or(UnreadableReason::NoDuration)?);
    if quoted == QuotedFields::Needed
        && let Some((referer, user_agent)) = headers(rest)
    {
        (fields.referer, fields.user_agent) = (referer, user_agent);
    }
    Ok(fields)
}

/// Duration at the end of a line: `300ms` behind a quote.
pub(super) fn duration_ms(rest: &[u8]) -> Option<u64> {
    let rest = rest.trim_ascii_end().strip_suffix(b"ms")?;
    let space = memchr::memrchr(b' ', rest)?;
    rest[..space].ends_with(b"\"").then(|| digits(&rest[space + 1..])).flatten()
}

/// `Referer` and `User-Agent` of `612 "referer" "agent" 7 "router" "url" 300ms`.
fn headers(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut end = rest.len();
    // Both quotes of the address and of the router, and the last one of the agent.
    for _ in 0..5 {
        end = memchr::memrchr(b'"', &rest[..end])?;
    }
    let start = memchr::memchr(b'"', rest)? + 1;
    let headers = rest.get(start..end)?;
    let between = memchr::memmem::find(headers, b"\" \"")?;
    Some((&headers[..between], &headers[between + 3..]))
}
