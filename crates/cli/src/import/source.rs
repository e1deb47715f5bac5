//! A file of another system: its name, its text, and what is wrong with it where.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use miette::{Diagnostic, NamedSource, Report, SourceSpan, miette};
use slidegate::policy::file::Span;
use slidegate::policy::mask_secrets;

/// The longest file that is read.
const MAX_BYTES: u64 = 16 << 20;

pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
    /// Where the lines start.
    lines: Vec<usize>,
}

/// What keeps a file from being converted.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{file_name}:{line}:{column}: {what}")]
struct Mistake {
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

impl Source {
    /// Reads a file; `-` is standard input.
    pub(super) fn read(path: &Path) -> Result<Self, Report> {
        let is_stdin = path.as_os_str() == "-";
        let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
        let bytes = if is_stdin { bounded(io::stdin().lock()) } else { File::open(path).and_then(bounded) };
        let bytes = bytes.map_err(|error| miette!("{name} cannot be read: {error}"))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let before = error.utf8_error().valid_up_to();
            miette!(help = "save it as UTF-8", "{name} is not UTF-8: see the byte after the first {before}")
        })?;
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(end, _)| end + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Ok(Self { name, text, lines })
    }

    /// The line and the column of a place, both from 1.
    pub(super) fn place(&self, at: Span) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= at.start);
        let before = self.text.get(self.lines[line - 1]..at.start).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    pub(super) fn line(&self, at: Span) -> usize {
        self.place(at).0
    }

    /// `what` is wrong at this place, and `remedy` would be right.
    pub(super) fn mistake(&self, at: Span, what: impl Into<String>, remedy: impl Into<String>) -> Report {
        let (line, column) = self.place(at);
        let start = at.start.min(self.text.len());
        let len = at.len.min(self.text.len() - start);
        Report::new(Mistake {
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
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it has more than 16 MiB"));
    }
    Ok(bytes)
}
