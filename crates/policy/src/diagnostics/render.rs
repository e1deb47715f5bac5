//! Rendering of errors as text, and as diagnostics of `miette`.

use std::error::Error;
use std::fmt::{self, Display};

use miette::{Diagnostic, LabeledSpan, SourceCode};

use super::{PolicyError, PolicyErrors};

/// Maximum number of characters of an excerpt.
const MAX_CHARS: usize = 100;
/// Maximum number of characters before the position.
const MAX_CHARS_BEFORE: usize = 60;

/// `policy.yaml:7:12: message`, the line with its position marked, and the help.
impl Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, message, help, .. } = self;
        write!(f, "{}:{line}:{column}: {message}", self.file.name())?;
        let (excerpt, before, marked) = self.excerpt();
        if !excerpt.trim().is_empty() {
            let number = line.to_string();
            write!(f, "\n  {number} | {excerpt}\n  {:1$} | ", "", number.len())?;
            write!(f, "{:before$}{}", "", "^".repeat(marked))?;
        }
        if help.is_empty() { Ok(()) } else { write!(f, "\n  {help}") }
    }
}

impl PolicyError {
    /// Excerpt of the line, the number of its characters before the position, and the length of the
    /// position.
    fn excerpt(&self) -> (String, usize, usize) {
        let text = self.file.inner();
        let line_start = text[..self.span.start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[line_start..].lines().next().unwrap_or_default();
        let before = self.column - 1;
        let skipped = before.saturating_sub(MAX_CHARS_BEFORE);
        // A control character could do anything to a terminal.
        let printable = |c: char| if c.is_control() { ' ' } else { c };
        let excerpt: String = line.chars().skip(skipped).take(MAX_CHARS).map(printable).collect();
        let rest = excerpt.chars().count().saturating_sub(before - skipped);
        let span = &text[self.span.start..self.span.start + self.span.len];
        let marked = span.lines().next().unwrap_or_default().chars().count();
        (excerpt, before - skipped, marked.min(rest).max(1))
    }
}

impl Error for PolicyError {}

impl Diagnostic for PolicyError {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        if self.help.is_empty() { None } else { Some(Box::new(&self.help)) }
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&*self.file)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new(Some("here".to_owned()), self.span.start, self.span.len);
        Some(Box::new(std::iter::once(label)))
    }
}

impl Display for PolicyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        match self.left_out {
            0 => Ok(()),
            left_out => write!(f, "\nand {left_out} more"),
        }
    }
}

impl Error for PolicyErrors {}

impl Diagnostic for PolicyErrors {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.errors.iter().map(|error| error as &dyn Diagnostic)))
    }
}
