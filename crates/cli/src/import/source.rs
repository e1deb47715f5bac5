//! Configuration file of another system: its name, its text, and errors with their location.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;

use miette::{Report, miette};
use slidegate::policy::Diagnostics;
use slidegate::policy::file::Span;
use slidegate::policy::yaml::{self, Node, Options};

use crate::policy::{self, PolicyDiagnostics};

/// Size limit of a file.
const MAX_BYTES: u64 = 16 << 20;

/// YAML of other systems, which may use all of its features.
const DIALECT: Options =
    Options { max_depth: 64, max_values: 1_000_000, merge_keys: true, tags: true, multiple_documents: true };

/// Configuration file of another system.
pub(super) struct SourceFile {
    pub(super) name: String,
    pub(super) text: String,
    /// Offsets of the lines.
    lines: Vec<usize>,
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

    /// Its YAML documents, without empty ones.
    pub(super) fn documents(&self) -> Result<Vec<Rc<Node>>, Report> {
        let diagnostics = Diagnostics::new(&self.name, &self.text);
        let documents = yaml::documents(&self.text, &DIALECT, &diagnostics).unwrap_or_default();
        self.result(diagnostics)?;
        Ok(documents.into_iter().filter(|root| !root.is_null()).collect())
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

    /// Error at this span: its message, and help on how to fix it.
    pub(super) fn error(&self, at: Span, message: impl Into<String>, help: impl Into<String>) -> Report {
        let diagnostics = Diagnostics::new(&self.name, &self.text);
        diagnostics.report(at, message, help);
        self.result(diagnostics).expect_err("an error is reported")
    }

    fn result(&self, diagnostics: Diagnostics) -> Result<(), Report> {
        diagnostics.into_result().map_err(|errors| Report::new(PolicyDiagnostics::new(&self.name, &errors)))
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
