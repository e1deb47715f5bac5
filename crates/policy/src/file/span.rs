//! Where something stands in a file.

/// A stretch of a file, in bytes from its start.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// How many bytes.
    pub len: usize,
}

impl Span {
    /// From the first byte of this one to the last of the other.
    pub(crate) fn to(self, end: Span) -> Span {
        Span { start: self.start, len: (end.start + end.len).saturating_sub(self.start) }
    }
}

/// A value and where it stands. A default stands nowhere: at the start of the file, with no length.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spanned<T> {
    /// Where it stands; for a value that is missing, what lacks it.
    pub at: Span,
    /// `None`: it is wrong, and that was reported.
    pub value: Option<T>,
}

impl<T> Spanned<T> {
    /// A value that does not stand in the file.
    pub fn of(value: T) -> Self {
        Self { at: Span::default(), value: Some(value) }
    }
}

impl<T: Default> Default for Spanned<T> {
    fn default() -> Self {
        Self::of(T::default())
    }
}
