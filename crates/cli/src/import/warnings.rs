//! Warnings about what has no equivalent in a policy.

use slidegate::policy::file::Span;

use super::source::SourceFile;

/// Warnings of one conversion.
#[derive(Default)]
pub(super) struct Warnings(Vec<ImportWarning>);

struct ImportWarning {
    at: Span,
    what: String,
    remedy: String,
}

impl Warnings {
    /// Adds a warning: what differs, and what to do about it. Duplicates are dropped.
    pub(super) fn warn(&mut self, at: Span, what: impl Into<String>, remedy: impl Into<String>) {
        // Control characters from the file must not reach a terminal.
        let what = what.into().replace(char::is_control, " ");
        let warning = ImportWarning { at, what, remedy: remedy.into() };
        if !self.0.iter().any(|other| other.at == warning.at && other.what == warning.what) {
            self.0.push(warning);
        }
    }

    pub(super) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Prints all warnings on standard error, in the order of the file.
    pub(super) fn print(&mut self, source: &SourceFile) {
        self.0.sort_by_key(|warning| warning.at.start);
        for ImportWarning { at, what, remedy } in &self.0 {
            let (line, column) = source.location(*at);
            anstream::eprintln!("warning: {}:{line}:{column}: {what}\n  {remedy}", source.name);
        }
    }
}
