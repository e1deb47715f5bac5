//! Readings of the path of a request: the ways in which common servers interpret it.
//!
//! A plain path has one reading, which is borrowed. Differences between servers give more:
//!
//! - `;x=1` behind a segment belongs to it, or is dropped as its matrix parameters: up to the next
//!   `/` as it was sent (Tomcat, Jetty), or after all else was decoded (behind a proxy that
//!   decodes), or after dots were resolved (behind a proxy that resolves them);
//! - `%2F`, `\` and `%5C` separate segments, or are part of one;
//! - `.` and `..` are resolved, before or after empty segments are dropped, or stay (Express);
//! - empty segments (`//`) are dropped, or stay;
//! - escapes of letters and digits are decoded, or the path is compared as it was sent (Express);
//! - `#` ends the path, or is part of it (Go).
//!
//! In all of them escapes are decoded once, the query is cut off, and `%00` and `%25` stay what
//! they are. A rule that limits or denies is for a path if one reading matches; what exempts needs
//! all of them to match. So it is safe to have a reading too many, and not one too few.

use std::borrow::Cow;

use super::path::Path;
use crate::request::{MAX_VALUE_BYTES, RequestError};

mod spelling;

use spelling::Spelling;
pub(super) use spelling::{decode, with_percent_signs};

/// Maximum number of readings of a path. Regular paths have at most four.
pub const MAX_READINGS: usize = 32;

/// Maximum size of a path in all of its spellings: six times the longest value. It bounds the work
/// on a path.
const MAX_SPELLED_BYTES: usize = 6 * MAX_VALUE_BYTES;

/// Settings of path normalization.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct PathRules {
    /// Whether case is ignored.
    pub(super) ignore_case: bool,
}

/// All readings of a path; none if there is no path. The first is the one with least in it: all
/// that a server may drop or resolve is dropped or resolved there.
#[derive(Debug)]
pub(super) struct Readings<'r> {
    first: Option<Path<'r>>,
    /// Empty for nearly all paths.
    others: Vec<Path<'r>>,
}

impl<'r> Readings<'r> {
    pub(super) const NONE: Self = Self { first: None, others: Vec::new() };

    #[inline(always)]
    pub(super) fn new(text: &'r str, rules: PathRules) -> Result<Self, RequestError> {
        let bytes = text.as_bytes();
        let bytes = bytes.strip_prefix(b"/").unwrap_or(bytes);
        match plain(bytes, rules) {
            Some(path) => Ok(Self { first: Some(Path::new(Cow::Borrowed(path))), others: Vec::new() }),
            None => Self::of_odd(bytes, rules),
        }
    }

    #[cold]
    fn of_odd(bytes: &'r [u8], rules: PathRules) -> Result<Self, RequestError> {
        let end = bytes.iter().position(|byte| *byte == b'?').unwrap_or(bytes.len());
        let path = &bytes[..end];
        let spellings = Spelling::all_of(path).ok_or(RequestError::TooManyReadings)?;
        if spellings.len() * path.len() > MAX_SPELLED_BYTES {
            return Err(RequestError::TooManyReadings);
        }
        let mut paths: Vec<Path<'r>> = Vec::with_capacity(4);
        for spelling in spellings {
            for text in spelling.texts(path) {
                let text = if rules.ignore_case { fold_case(&text) } else { text };
                let path = Path::new(Cow::Owned(text));
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
            if paths.len() > MAX_READINGS {
                return Err(RequestError::TooManyReadings);
            }
        }
        let others = paths.split_off(1);
        Ok(Self { first: paths.pop(), others })
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&Path<'r>> {
        self.first.as_ref()
    }

    /// Whether all servers read the path alike.
    #[inline]
    pub(super) fn is_single(&self) -> bool {
        self.others.is_empty()
    }

    #[inline]
    pub(super) fn all(&self) -> impl Iterator<Item = &Path<'r>> {
        self.first.iter().chain(&self.others)
    }
}

/// Table of the bytes of a path that are special.
const fn special(ignore_case: bool) -> [bool; 256] {
    let mut special = [false; 256];
    let mut byte = 0_usize;
    while byte < 256 {
        let other_case = matches!(byte as u8, b'A'..=b'Z' | 0x80..);
        let separates = matches!(byte as u8, b'/' | b'?' | b'%' | b';' | b'\\' | b'#');
        special[byte] = separates || ignore_case && other_case;
        byte += 1;
    }
    special
}

static SPECIAL: [[bool; 256]; 2] = [special(false), special(true)];

/// Path without its query, if all servers read it alike and unchanged.
#[inline]
fn plain(bytes: &[u8], rules: PathRules) -> Option<&[u8]> {
    let is_odd = |segment: &[u8]| matches!(segment, b"" | b"." | b"..");
    let special = &SPECIAL[usize::from(rules.ignore_case)];
    let (mut start, mut end) = (0, bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        if !special[usize::from(*byte)] {
            continue;
        }
        match byte {
            b'/' if is_odd(&bytes[start..at]) => return None,
            b'/' => start = at + 1,
            b'?' => {
                end = at;
                break;
            }
            _ => return None,
        }
    }
    // A slash at the end is no segment.
    (start == end || !is_odd(&bytes[start..end])).then_some(&bytes[..end])
}

/// Text with its case folded, for comparisons that ignore case.
pub(super) fn fold_case(text: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(text) {
        // Upper case first: some letters share only that.
        Ok(text) if !text.is_ascii() => text.to_uppercase().to_lowercase().into_bytes(),
        _ => text.to_ascii_lowercase(),
    }
}

/// Canonical form of a part of a path that servers read differently: its shortest reading.
pub(super) fn canonical(part: &[u8]) -> Vec<u8> {
    let text = spelling::resolutions(Spelling::LEAST.write(part)).swap_remove(0);
    let end = text.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    text[..end].to_vec()
}

#[cfg(test)]
mod tests;
