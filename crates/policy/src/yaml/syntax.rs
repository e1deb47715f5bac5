//! What is no YAML, said in plain words.

use granit_parser::{ErrorKind, ScanError};

use super::super::diagnostics::Problems;
use super::super::file::Span;

/// Reports where reading had to end. `bracket` is the innermost one that is still open.
pub(super) fn report(error: &ScanError, text: &str, bracket: Option<Span>, problems: &Problems) {
    use ErrorKind as E;
    let mut at = Span { start: error.marker().byte_offset().unwrap_or_default(), len: 1 };
    if let Some((what, remedy)) = brackets(error.kind(), bracket, problems) {
        return problems.report(at, what, remedy);
    }
    let (what, remedy) = match error.kind() {
        E::TabNotAllowed | E::TabInBlockIndentation | E::TabInIndentation | E::TabAtBlockScalarStart => {
            // It may be noticed only behind it.
            if text.get(..at.start).is_some_and(|before| before.ends_with('\t')) {
                at.start -= 1;
            }
            ("a tab where spaces are needed", "indent with spaces")
        }
        E::UnclosedQuotedScalar | E::InvalidQuotedScalarIndent | E::DocumentIndicatorInQuotedScalar => {
            ("the quotes before this are not closed", "add the quote that is missing")
        }
        E::InvalidTrailingSingleQuotedScalar | E::InvalidTrailingDoubleQuotedScalar => {
            ("something follows a text in quotes", "end the line after the quote, or put all of it in quotes")
        }
        E::UnknownQuotedScalarEscape | E::InvalidQuotedScalarHexEscape | E::InvalidUnicodeEscape => {
            ("this escape does not exist", "write \\\\ for a backslash, or use single quotes")
        }
        E::UnexpectedCharacter { character: '%' | '@' | '`' } => {
            ("a text cannot start with this character", "put the text in quotes")
        }
        E::UnexpectedCharacter { .. } => ("this character is not allowed here", "remove it"),
        E::RecursionLimitExceeded => ("this is nested too deeply", "a policy needs no more than ten levels"),
        E::MappingValueNotAllowed | E::InvalidColonPlacement | E::SimpleKeyExpected => (
            "a field cannot start here",
            "check the indentation, and put a text that has `: ` in it in quotes",
        ),
        E::InvalidIndentation
        | E::ExpectedBlockMappingKey
        | E::ExpectedBlockSequenceEntry
        | E::BlockSequenceEntryNotAllowed => (
            "this does not line up with what is before it",
            "indent the fields of a mapping and the items of a list alike",
        ),
        kind => {
            return problems.report(at, format!("this is no YAML: {kind}"), "check quotes and indentation");
        }
    };
    problems.report(at, what, remedy);
}

/// What is wrong with brackets, and what would be right. While one is open, most errors are about that.
fn brackets(kind: &ErrorKind, open: Option<Span>, problems: &Problems) -> Option<(String, String)> {
    let closing = |open: char| if open == '[' { ']' } else { '}' };
    match kind {
        ErrorKind::UnclosedFlowCollection { open } => {
            Some((format!("this `{open}` is not closed"), format!("add `{}`", closing(*open))))
        }
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            let remedy =
                format!("close it with `{}`, or put a text that has brackets in quotes", closing(*open));
            Some((format!("this `{open}` is closed by `{close}`"), remedy))
        }
        ErrorKind::MisplacedFlowCollectionEnd => {
            let remedy = "remove it, or put a text that has brackets in quotes";
            Some(("this bracket closes nothing".to_owned(), remedy.to_owned()))
        }
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::InvalidColonPlacement
        | ErrorKind::MappingValueNotAllowed
        | ErrorKind::SimpleKeyExpected
        | ErrorKind::BlockEntryInFlowCollection
        | ErrorKind::InvalidIndentation => {
            let line = problems.line(open?);
            let remedy =
                format!("close the one that opens on line {line}, or put a text that has brackets in quotes");
            Some(("a bracket is not closed before this".to_owned(), remedy))
        }
        _ => None,
    }
}
