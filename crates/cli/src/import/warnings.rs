//! What has no equal in a policy, told as the file is read.

use slidegate::policy::file::Span;

use super::source::Source;

#[derive(Default)]
pub(super) struct Warnings(Vec<Warning>);

struct Warning {
    at: Span,
    what: String,
    remedy: String,
}

impl Warnings {
    /// `what` is not as it was, and `remedy` can be done about it. The same at one place is said once.
    pub(super) fn warn(&mut self, at: Span, what: impl Into<String>, remedy: impl Into<String>) {
        // A control character of the file could do anything to a terminal.
        let what = what.into().replace(char::is_control, " ");
        let warning = Warning { at, what, remedy: remedy.into() };
        if !self.0.iter().any(|known| known.at == warning.at && known.what == warning.what) {
            self.0.push(warning);
        }
    }

    pub(super) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Tells all of them on standard error, in the order of the file.
    pub(super) fn print(&mut self, source: &Source) {
        self.0.sort_by_key(|warning| warning.at.start);
        for Warning { at, what, remedy } in &self.0 {
            let (line, column) = source.place(*at);
            anstream::eprintln!("warning: {}:{line}:{column}: {what}\n  {remedy}", source.name);
        }
    }
}
