//! Errors as text, and as what `miette` draws.

use std::error::Error;
use std::fmt::{self, Display};

use miette::{Diagnostic, LabeledSpan, SourceCode};

use super::{PolicyError, PolicyErrors};

/// A line is shown up to this many characters, around the place.
const SHOWN: usize = 100;
/// What is shown of it before the place.
const SHOWN_BEFORE: usize = 60;

/// `policy.yaml:7:12: what is wrong`, its line with the place marked, and what would be right.
impl Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, what, remedy, .. } = self;
        write!(f, "{}:{line}:{column}: {what}", self.file.name())?;
        let (excerpt, before, marked) = self.excerpt();
        if !excerpt.trim().is_empty() {
            let number = line.to_string();
            write!(f, "\n  {number} | {excerpt}\n  {:1$} | ", "", number.len())?;
            write!(f, "{:before$}{}", "", "^".repeat(marked))?;
        }
        if remedy.is_empty() { Ok(()) } else { write!(f, "\n  {remedy}") }
    }
}

impl PolicyError {
    /// The line, how many of its characters stand before the place, and how many are the place.
    fn excerpt(&self) -> (String, usize, usize) {
        let text = self.file.inner();
        let line_start = text[..self.span.start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[line_start..].lines().next().unwrap_or_default();
        let before = self.column - 1;
        let skipped = before.saturating_sub(SHOWN_BEFORE);
        // A control character could do anything to a terminal.
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        let excerpt: String = line.chars().skip(skipped).take(SHOWN).map(shown).collect();
        let rest = excerpt.chars().count().saturating_sub(before - skipped);
        let span = &text[self.span.start..self.span.start + self.span.len];
        let marked = span.lines().next().unwrap_or_default().chars().count();
        (excerpt, before - skipped, marked.min(rest).max(1))
    }
}

impl Error for PolicyError {}

impl Diagnostic for PolicyError {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        if self.remedy.is_empty() { None } else { Some(Box::new(&self.remedy)) }
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
