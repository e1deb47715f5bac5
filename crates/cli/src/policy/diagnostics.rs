//! Diagnostics of an invalid policy file: every error with its line, its column and its source
//! text.

use std::fmt;

use miette::{Diagnostic, LabeledSpan, Report, SourceCode};
use serde_json::{Value, json};
use slidegate::policy::{PolicyError, PolicyErrors};

/// Errors of one policy file.
#[derive(Debug)]
pub(crate) struct PolicyDiagnostics {
    name: String,
    count: usize,
    errors: Vec<PolicyError>,
}

impl PolicyDiagnostics {
    pub(crate) fn new(name: &str, errors: &PolicyErrors) -> Self {
        let (name, count) = (name.to_owned(), errors.count());
        Self { name, count, errors: errors.iter().cloned().collect() }
    }

    pub(crate) fn errors(&self) -> impl Iterator<Item = &PolicyError> {
        self.errors.iter()
    }

    /// Every error with its source text; several errors end with their number.
    pub(crate) fn render(&self) -> String {
        let reports =
            self.errors().map(|error| format!("{:?}", Report::new(PolicyDiagnostic(error.clone()))));
        let text: String = reports.collect();
        if self.count == 1 { text } else { format!("{text}\n{self}\n") }
    }
}

/// Errors for programs. The error of an unreadable file has no line.
pub(crate) fn errors(report: &Report) -> Vec<Value> {
    let Some(diagnostics) = report.downcast_ref::<PolicyDiagnostics>() else {
        return vec![json!({ "what": report.to_string() })];
    };
    let value = |error: &PolicyError| json!({ "line": error.line, "column": error.column, "what": error.message, "remedy": error.help });
    diagnostics.errors().map(value).collect()
}

impl fmt::Display for PolicyDiagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, count, listed) = (&self.name, self.count, self.errors.len());
        match count {
            1 => write!(f, "{name}: 1 error"),
            _ if listed < count => {
                write!(f, "{name}: {count} errors, of which the first {listed} are listed")
            }
            _ => write!(f, "{name}: {count} errors"),
        }
    }
}

impl std::error::Error for PolicyDiagnostics {}

impl Diagnostic for PolicyDiagnostics {}

/// One error. Its text is the problem alone: location and remedy are printed around it.
#[derive(Debug)]
struct PolicyDiagnostic(PolicyError);

impl fmt::Display for PolicyDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for PolicyDiagnostic {}

impl Diagnostic for PolicyDiagnostic {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.help()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.0.labels()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.source_code()
    }
}
