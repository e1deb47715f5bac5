//! What is wrong with a file: all of it, with places.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use miette::NamedSource;

use super::file::Span;

mod shown;

/// More errors than this are counted, not kept.
const MOST: usize = 100;

/// Collects what is wrong while a file is read.
pub(crate) struct Problems {
    file: Arc<NamedSource<String>>,
    /// Where the lines start.
    lines: Vec<usize>,
    errors: RefCell<Vec<PolicyError>>,
    left_out: Cell<usize>,
}

impl Problems {
    pub(crate) fn new(file_name: &str, text: &str) -> Self {
        let file = Arc::new(NamedSource::new(file_name, text.to_owned()).with_language("yaml"));
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(end, _)| end + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Self { file, lines, errors: RefCell::default(), left_out: Cell::new(0) }
    }

    /// `what` is wrong at this place, and `remedy` would be right. What stands behind several aliases is wrong once.
    pub(crate) fn report(&self, at: Span, what: impl Into<String>, remedy: impl Into<String>) {
        let mut errors = self.errors.borrow_mut();
        let (span, what) = (within(self.file.inner(), at), what.into());
        if errors.iter().any(|error| error.span == span && error.what == what) {
            return;
        }
        if errors.len() == MOST {
            self.left_out.set(self.left_out.get() + 1);
            return;
        }
        let line = self.line(span);
        let column = self.file.inner()[self.lines[line - 1]..span.start].chars().count() + 1;
        let file = Arc::clone(&self.file);
        errors.push(PolicyError { line, column, what, remedy: remedy.into(), span, file });
    }

    /// Whether nothing was reported.
    pub(crate) fn is_empty(&self) -> bool {
        self.errors.borrow().is_empty()
    }

    /// Whether more errors are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.borrow().len() == MOST
    }

    /// The line of a place, from 1: for errors that speak of two places.
    pub(crate) fn line(&self, at: Span) -> usize {
        self.lines.partition_point(|start| *start <= at.start)
    }

    /// All that was reported, in the order of the file.
    pub(crate) fn into_result(self) -> Result<(), PolicyErrors> {
        let mut errors = self.errors.into_inner();
        if errors.is_empty() {
            return Ok(());
        }
        errors.sort_by_key(|error| error.span.start);
        Err(PolicyErrors { errors, left_out: self.left_out.get() })
    }
}

/// One thing that is wrong with a file.
#[derive(Clone, Debug)]
pub struct PolicyError {
    /// Its line, from 1.
    pub line: usize,
    /// Its column, from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub remedy: String,
    /// Where it stands.
    pub span: Span,
    file: Arc<NamedSource<String>>,
}

/// All that is wrong with a file, in its order. As text: a block for every error, with its line of the file.
#[derive(Clone, Debug)]
pub struct PolicyErrors {
    errors: Vec<PolicyError>,
    /// How many more there were than are kept.
    left_out: usize,
}

impl PolicyErrors {
    /// One after the other; never empty.
    pub fn iter(&self) -> impl Iterator<Item = &PolicyError> {
        self.errors.iter()
    }

    /// How many there are, those that are not kept too.
    pub fn count(&self) -> usize {
        self.errors.len() + self.left_out
    }
}

/// The part of a span that lies in the text, on the borders of characters.
fn within(text: &str, at: Span) -> Span {
    let start = text.floor_char_boundary(at.start.min(text.len()));
    let end = text.floor_char_boundary(at.start.saturating_add(at.len).clamp(start, text.len()));
    Span { start, len: end - start }
}
