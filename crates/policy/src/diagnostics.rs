//! What is wrong with a file: all of it, with places.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use miette::NamedSource;

use super::file::Span;

mod mask;
mod render;

pub(super) use mask::Mask;
pub use mask::mask_secrets;

/// More errors than this are counted, not kept.
const MOST: usize = 100;

/// Collects what is wrong while a file is read.
pub(crate) struct Problems {
    text: Box<str>,
    mask: Mask,
    /// The text without its secrets.
    file: Arc<NamedSource<String>>,
    /// Where the lines start.
    lines: Vec<usize>,
    errors: RefCell<Vec<PolicyError>>,
    left_out: Cell<usize>,
}

impl Problems {
    pub(crate) fn new(file_name: &str, text: &str) -> Self {
        let mask = Mask::of(text);
        let file = Arc::new(NamedSource::new(file_name, mask.cover(text)).with_language("yaml"));
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(end, _)| end + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Self { text: text.into(), mask, file, lines, errors: RefCell::default(), left_out: Cell::new(0) }
    }

    /// `what` is wrong at this place, and `remedy` would be right. What stands behind several aliases is wrong once.
    pub(crate) fn report(&self, at: Span, what: impl Into<String>, remedy: impl Into<String>) {
        let mut errors = self.errors.borrow_mut();
        let span = within(&self.text, at);
        let (what, remedy) = self.without_secret(span, what.into(), &remedy.into());
        if errors.iter().any(|error| error.span == span && error.what == what) {
            return;
        }
        if errors.len() == MOST {
            self.left_out.set(self.left_out.get() + 1);
            return;
        }
        let line = self.line(span);
        let column = self.text[self.lines[line - 1]..span.start].chars().count() + 1;
        let file = Arc::clone(&self.file);
        errors.push(PolicyError { line, column, what, remedy, span, file });
    }

    /// An error without the secrets that it quotes: all that it does at the place of one.
    fn without_secret(&self, span: Span, what: String, remedy: &str) -> (String, String) {
        let remedy = Mask::of(remedy).elide(remedy);
        if !self.mask.hides(span.start) {
            return (what, remedy);
        }
        let quotes = what.split('`').enumerate();
        let quotes = quotes.map(|(index, part)| if index % 2 == 1 { "…" } else { part });
        let secret = self.text[span.start..span.start + span.len].trim_matches(['*', '&', '"', '\'']);
        let remedy = if secret.is_empty() { remedy } else { remedy.replace(secret, "…") };
        (quotes.collect::<Vec<_>>().join("`"), remedy)
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

/// What is wrong with a value, before its place is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Flaw {
    pub(super) what: String,
    pub(super) remedy: String,
}

impl Flaw {
    pub(super) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into() }
    }
}
