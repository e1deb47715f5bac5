//! Configuration file of another system: its name, its text, and errors with their location.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use miette::{Diagnostic, NamedSource, Report, SourceSpan, miette};
use slidegate::policy::file::Span;
use slidegate::policy::mask_secrets;

use crate::policy;

/// Size limit of a file.
const MAX_BYTES: u64 = 16 << 20;

/// Configuration file of another system.
pub(super) struct SourceFile {
    pub(super) name: String,
    pub(super) text: String,
    /// Offsets of the lines.
    lines: Vec<usize>,
}

/// Error that prevents the conversion.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{file_name}:{line}:{column}: {what}")]
struct ImportError {
    what: String,
    #[help]
    remedy: String,
    file_name: String,
    line: usize,
    column: usize,
    #[source_code]
    file: NamedSource<String>,
    #[label("here")]
    at: SourceSpan,
}

impl SourceFile {
    /// Reads a file; `-` is standard input.
    pub(super) fn read(path: &Path) -> Result<Self, Report> {
        let is_stdin = path.as_os_str() == "-";
        let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
        let bytes = if is_stdin { bounded(io::stdin().lock()) } else { File::open(path).and_then(bounded) };
        let bytes = bytes.map_err(|error| miette!("cannot read {name}: {error}"))?;
        let text = policy::utf8(&name, bytes)?;
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(end, _)| end + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Ok(Self { name, text, lines })
    }

    /// Line and column of a span, both from 1.
    pub(super) fn location(&self, at: Span) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= at.start);
        let before = self.text.get(self.lines[line - 1]..at.start).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    pub(super) fn line(&self, at: Span) -> usize {
        self.location(at).0
    }

    /// Error at this span: the problem and its remedy.
    pub(super) fn error(&self, at: Span, what: impl Into<String>, remedy: impl Into<String>) -> Report {
        let (line, column) = self.location(at);
        let start = at.start.min(self.text.len());
        let len = at.len.min(self.text.len() - start);
        Report::new(ImportError {
            what: what.into(),
            remedy: remedy.into(),
            file_name: self.name.clone(),
            line,
            column,
            file: NamedSource::new(&self.name, mask_secrets(&self.text)),
            at: SourceSpan::from((start, len)),
        })
    }
}

fn bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "larger than 16 MiB"));
    }
    Ok(bytes)
}
