//! Labels of library enums in metrics, logs, traces and responses.

use slidegate::Source;

/// Label of the source of a decision.
pub(crate) fn source(source: Source) -> &'static str {
    match source {
        Source::Store => "store",
        Source::Local => "local",
        Source::Cache => "cache",
        Source::Assumed => "assumed",
    }
}
