//! One reading of a request's path: segments with a `/` between each two.
//!
//! Servers read a path in different ways; [`Readings`](super::path_readings::Readings) has all of
//! them.

use std::borrow::Cow;
use std::ops::Range;

/// Segments with a `/` between each two, and whether a slash followed the last. A segment is empty
/// only where this server does not fold `//`, and never the last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Path<'r> {
    text: Cow<'r, [u8]>,
    slash: bool,
}

/// View of a reading for templates, with or without its last slash.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathView<'p, 'r> {
    path: &'p Path<'r>,
    slash: bool,
}

impl<'r> Path<'r> {
    /// Path from a text without its first slash.
    #[inline]
    pub(super) fn new(text: Cow<'r, [u8]>) -> Self {
        if text.last() != Some(&b'/') {
            return Self { text, slash: false };
        }
        let end = text.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let text = match text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
            Cow::Owned(mut text) => {
                text.truncate(end);
                Cow::Owned(text)
            }
        };
        Self { text, slash: true }
    }

    #[inline]
    pub(super) fn view(&self) -> PathView<'_, 'r> {
        PathView { path: self, slash: self.slash }
    }

    /// View of a server that ignores a slash at the end.
    #[inline]
    pub(super) fn view_without_slash(&self) -> PathView<'_, 'r> {
        PathView { path: self, slash: false }
    }

    fn part(&self, of: impl FnOnce(&[u8]) -> &[u8]) -> Cow<'r, [u8]> {
        match &self.text {
            Cow::Borrowed(text) => Cow::Borrowed(of(text)),
            Cow::Owned(text) => Cow::Owned(of(text).to_vec()),
        }
    }
}

impl<'p, 'r> PathView<'p, 'r> {
    pub(super) fn segments(self) -> impl Iterator<Item = &'p [u8]> {
        let text: &'p [u8] = &self.path.text;
        let none_if_empty = (!text.is_empty()).then_some(text);
        none_if_empty.into_iter().flat_map(|text| text.split(|byte| *byte == b'/'))
    }

    /// Whether a slash follows the last segment.
    #[inline]
    pub(super) fn has_slash(self) -> bool {
        self.slash
    }

    /// Bytes in this range of the text.
    pub(super) fn range(self, range: Range<usize>) -> Cow<'r, [u8]> {
        self.path.part(|text| text.get(range).unwrap_or_default())
    }

    /// Bytes from this offset; none beyond the end.
    pub(super) fn from(self, start: usize) -> Cow<'r, [u8]> {
        self.path.part(|text| text.get(start..).unwrap_or_default())
    }

    /// Whole text.
    pub(super) fn text(self) -> Cow<'r, [u8]> {
        self.from(0)
    }
}
