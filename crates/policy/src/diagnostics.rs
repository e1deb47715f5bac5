//! Errors of a file, collected with their positions and without its secrets.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use miette::NamedSource;

use super::file::{MAX_BYTES, Span};

mod mask;
mod render;

pub(super) use mask::Mask;
pub use mask::mask_secrets;

/// Maximum number of errors in a report. Further ones are only counted.
const MAX_ERRORS: usize = 100;

/// Collector of the errors in a text.
pub struct Diagnostics {
    text: Box<str>,
    mask: Mask,
    /// The text without its secrets.
    file: Arc<NamedSource<String>>,
    /// Starts of the lines.
    lines: Vec<usize>,
    errors: RefCell<Vec<PolicyError>>,
    left_out: Cell<usize>,
}

impl Diagnostics {
    /// Empty collector for a text. Reports name the file.
    pub fn new(file_name: &str, text: &str) -> Self {
        let mask = Mask::of(text);
        let file = Arc::new(NamedSource::new(file_name, mask.cover(text)).with_language("yaml"));
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(end, _)| end + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Self { text: text.into(), mask, file, lines, errors: RefCell::default(), left_out: Cell::new(0) }
    }

    /// Adds an error: its message, and help on how to fix it.
    ///
    /// An error that is reachable by several aliases is added once.
    pub fn report(&self, at: Span, message: impl Into<String>, help: impl Into<String>) {
        let mut errors = self.errors.borrow_mut();
        let span = within(&self.text, at);
        let (message, help) = self.without_secret(span, message.into(), &help.into());
        if errors.iter().any(|error| error.span == span && error.message == message) {
            return;
        }
        if errors.len() == MAX_ERRORS {
            self.left_out.set(self.left_out.get() + 1);
            return;
        }
        let line = self.line(span);
        let column = self.text[self.lines[line - 1]..span.start].chars().count() + 1;
        let file = Arc::clone(&self.file);
        errors.push(PolicyError { line, column, message, help, span, file });
    }

    /// Message and help without secrets. An error at the position of a secret quotes nothing.
    fn without_secret(&self, span: Span, message: String, help: &str) -> (String, String) {
        let help = Mask::of(help).elide(help);
        if !self.mask.hides(span.start) {
            return (message, help);
        }
        let quotes = message.split('`').enumerate();
        let quotes = quotes.map(|(index, part)| if index % 2 == 1 { "…" } else { part });
        let secret = self.text[span.start..span.start + span.len].trim_matches(['*', '&', '"', '\'']);
        let help = if secret.is_empty() { help } else { help.replace(secret, "…") };
        (quotes.collect::<Vec<_>>().join("`"), help)
    }

    /// Whether there is no error.
    pub fn is_empty(&self) -> bool {
        self.errors.borrow().is_empty()
    }

    /// Number of errors.
    pub(crate) fn count(&self) -> usize {
        self.errors.borrow().len() + self.left_out.get()
    }

    /// Whether further errors are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.borrow().len() == MAX_ERRORS
    }

    /// Line of a position, from 1: for messages that refer to a second position.
    pub fn line(&self, at: Span) -> usize {
        self.lines.partition_point(|start| *start <= at.start)
    }

    /// All errors in the order of the file, or `Ok` if there are none.
    pub fn into_result(self) -> Result<(), PolicyErrors> {
        let mut errors = self.errors.into_inner();
        if errors.is_empty() {
            return Ok(());
        }
        errors.sort_by_key(|error| error.span.start);
        Err(PolicyErrors { errors, left_out: self.left_out.get() })
    }
}

/// Error in a file.
#[derive(Clone, Debug)]
pub struct PolicyError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Message: the error.
    pub message: String,
    /// Help on how to fix it.
    pub help: String,
    /// Position.
    pub span: Span,
    file: Arc<NamedSource<String>>,
}

/// Errors of a file, in its order. As text: a block for each error, with its line of the file.
#[derive(Clone, Debug)]
pub struct PolicyErrors {
    errors: Vec<PolicyError>,
    /// Number of errors beyond the maximum.
    left_out: usize,
}

impl PolicyErrors {
    /// The errors, at least one.
    pub fn iter(&self) -> impl Iterator<Item = &PolicyError> {
        self.errors.iter()
    }

    /// Number of errors, including those that are not in the report.
    pub fn count(&self) -> usize {
        self.errors.len() + self.left_out
    }
}

/// Part of a span that lies in the text, on boundaries of characters.
fn within(text: &str, at: Span) -> Span {
    let start = text.floor_char_boundary(at.start.min(text.len()));
    let end = text.floor_char_boundary(at.start.saturating_add(at.len).clamp(start, text.len()));
    Span { start, len: end - start }
}

/// Reason why a value is invalid, before its position is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidValue {
    pub(super) message: String,
    pub(super) help: String,
}

impl InvalidValue {
    /// Message, and help on how to fix the value.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }

    pub(super) fn report(self, at: Span, diagnostics: &Diagnostics) {
        diagnostics.report(at, self.message, self.help);
    }
}

/// Excerpt of a text in backticks for messages: short, on one line, and without secrets.
pub fn quote(text: &str) -> String {
    const MAX_CHARS: usize = 40;
    let text = Mask::of(text).elide(text);
    let mut excerpt: String = text.chars().take(MAX_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        excerpt.push('…');
    }
    format!("`{excerpt}`")
}

/// Text of the bytes of a file. An error if they are not UTF-8.
pub fn decode<'b>(file_name: &str, bytes: &'b [u8]) -> Result<&'b str, PolicyErrors> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            // The excerpt ends here: what follows could be anything.
            let good = String::from_utf8_lossy(&bytes[..error.valid_up_to().min(MAX_BYTES)]);
            let at = Span { start: good.len(), len: 0 };
            let diagnostics = Diagnostics::new(file_name, &good);
            diagnostics.report(at, "invalid UTF-8", "save the file as UTF-8");
            diagnostics.into_result().map(|()| "")
        }
    }
}
