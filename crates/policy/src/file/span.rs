//! Positions in a file.

/// Range of a file in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Number of bytes.
    pub len: usize,
}

impl Span {
    /// Range from the first byte of this one to the last byte of the other.
    pub(crate) fn to(self, end: Span) -> Span {
        Span { start: self.start, len: (end.start + end.len).saturating_sub(self.start) }
    }
}

/// Value with its position. A default has the empty position at the start of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spanned<T> {
    /// Position; of a missing value the position of the mapping that lacks it.
    pub at: Span,
    /// `None`: it is invalid, and that was reported.
    pub value: Option<T>,
}

impl<T> Spanned<T> {
    /// Value that is not in the file.
    pub fn of(value: T) -> Self {
        Self { at: Span::default(), value: Some(value) }
    }
}

impl<T: Default> Default for Spanned<T> {
    fn default() -> Self {
        Self::of(T::default())
    }
}
