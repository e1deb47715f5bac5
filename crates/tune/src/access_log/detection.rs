//! Detection of a file's format by its first lines.

use jiff::tz::TimeZone;

use super::format::{AccessLogFormat, CombinedServer};
use super::line_parser::detect_line;
use super::options::ReadOptions;
use super::timestamp::MinuteCache;

/// Lines that are looked at.
const LINES: usize = 50;

/// Format of most of the first lines that have one; the first of several.
pub(super) fn detect(lines: &[u8], options: &ReadOptions) -> Option<AccessLogFormat> {
    let mut stamps = MinuteCache::new(TimeZone::UTC);
    let mut votes: Vec<(AccessLogFormat, u32)> = Vec::new();
    for (index, line) in lines.split(|byte| *byte == b'\n').take(LINES).enumerate() {
        let line = line.trim_ascii_end();
        let Some(format) = detect_line(line, index, &mut stamps) else { continue };
        match votes.iter_mut().find(|(other, _)| *other == format) {
            Some((_, count)) => *count += 1,
            None => votes.push((format, 1)),
        }
    }
    let most = votes.iter().map(|(_, count)| *count).max()?;
    let format = votes.into_iter().find(|(_, count)| *count == most)?.0;
    match (format, options.combined_server) {
        (AccessLogFormat::NginxCombined, Some(CombinedServer::Apache)) => {
            Some(AccessLogFormat::ApacheCombined)
        }
        _ => Some(format),
    }
}
