//! Report of a replay as one HTML file: readable offline, on a phone, in light and dark.
//!
//! The file loads nothing and runs nothing: its content security policy forbids both, and whatever
//! comes from a log is text. Subjects are masked unless the reader asks for them.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | `page` | the document: head, content security policy, sections |
//! | `verdict` | the result in sentences, with the limits of its truth |
//! | `over_time` | requests and denials over time |
//! | `rules`, `peaks` | rules; how many subjects have which peak, and what another quota would touch |
//! | `subjects`, `mask` | who is denied most; subjects without their identity |
//! | `comparison` | algorithms, another policy, conditions of `--fail-if` |
//! | `log` | how the log was read |
//! | `element`, `table` | elements and tables |

mod comparison;
mod element;
mod log;
mod mask;
mod over_time;
mod page;
mod peaks;
mod rules;
mod subjects;
mod table;
mod verdict;

use jiff::tz::TimeZone;

use crate::numbers::TimeText;
use crate::replay::ReplayReport;

pub use mask::{SubjectMask, SubjectStyle};

/// Upper bound on the size of a report. Details of rules are left out beyond it, and that is said.
pub const MAX_BYTES: usize = 1_000_000;

/// What a report has besides the numbers of a replay.
#[derive(Clone, Debug)]
pub struct HtmlOptions {
    /// Command that repeats the replay.
    pub command: String,
    /// Time zone of the times.
    pub timezone: TimeZone,
    /// How subjects appear.
    pub subjects: SubjectMask,
}

/// Report as the text of an HTML file.
pub fn report(report: &ReplayReport, options: &HtmlOptions) -> String {
    page::document(&ReportView { report, options, times: TimeText::new(&options.timezone) })
}

/// Report with what its sections need to render it.
struct ReportView<'a> {
    report: &'a ReplayReport,
    options: &'a HtmlOptions,
    times: TimeText,
}

#[cfg(test)]
mod tests;
