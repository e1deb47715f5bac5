//! Syntax errors of YAML in plain words.

use granit_parser::{ErrorKind, ScanError};

use super::super::diagnostics::Diagnostics;
use super::super::file::Span;

/// Reports a syntax error. `bracket` is the innermost one that is still open.
pub(super) fn report(error: &ScanError, text: &str, bracket: Option<Span>, diagnostics: &Diagnostics) {
    use ErrorKind as E;
    let mut at = Span { start: error.marker().byte_offset().unwrap_or_default(), len: 1 };
    if let Some((message, help)) = brackets(error.kind(), bracket, diagnostics) {
        return diagnostics.report(at, message, help);
    }
    let (message, help) = match error.kind() {
        E::TabNotAllowed | E::TabInBlockIndentation | E::TabInIndentation | E::TabAtBlockScalarStart => {
            // The parser may notice it one character later.
            if text.get(..at.start).is_some_and(|before| before.ends_with('\t')) {
                at.start -= 1;
            }
            ("tabs are not allowed in indentation", "indent with spaces")
        }
        E::UnclosedQuotedScalar | E::InvalidQuotedScalarIndent | E::DocumentIndicatorInQuotedScalar => {
            ("unclosed quote before this", "add the missing quote")
        }
        E::InvalidTrailingSingleQuotedScalar | E::InvalidTrailingDoubleQuotedScalar => (
            "unexpected text after a quoted string",
            "end the line after the quote, or quote the whole value",
        ),
        E::UnknownQuotedScalarEscape | E::InvalidQuotedScalarHexEscape | E::InvalidUnicodeEscape => {
            ("unknown escape sequence", "write \\\\ for a backslash, or use single quotes")
        }
        E::UnexpectedCharacter { character: '%' | '@' | '`' } => {
            ("a plain string cannot start with this character", "quote the string")
        }
        E::UnexpectedCharacter { .. } => ("unexpected character", "remove it"),
        E::RecursionLimitExceeded => ("nested too deeply", "use fewer levels"),
        E::MappingValueNotAllowed | E::InvalidColonPlacement | E::SimpleKeyExpected => {
            ("a field cannot start here", "check the indentation, and quote strings that contain `: `")
        }
        E::InvalidIndentation
        | E::ExpectedBlockMappingKey
        | E::ExpectedBlockSequenceEntry
        | E::BlockSequenceEntryNotAllowed => {
            ("inconsistent indentation", "indent all fields of a mapping and all items of a list equally")
        }
        kind => {
            return diagnostics.report(at, format!("invalid YAML: {kind}"), "check quotes and indentation");
        }
    };
    diagnostics.report(at, message, help);
}

/// Message and help of an error about brackets. While one is open, most errors come from that.
fn brackets(kind: &ErrorKind, open: Option<Span>, diagnostics: &Diagnostics) -> Option<(String, String)> {
    let closing = |open: char| if open == '[' { ']' } else { '}' };
    match kind {
        ErrorKind::UnclosedFlowCollection { open } => {
            Some((format!("unclosed `{open}`"), format!("add `{}`", closing(*open))))
        }
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            let help =
                format!("close it with `{}`, or quote a string that contains brackets", closing(*open));
            Some((format!("mismatched brackets: `{open}` is closed by `{close}`"), help))
        }
        ErrorKind::MisplacedFlowCollectionEnd => {
            let help = "remove it, or quote a string that contains brackets";
            Some(("unmatched closing bracket".to_owned(), help.to_owned()))
        }
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::InvalidColonPlacement
        | ErrorKind::MappingValueNotAllowed
        | ErrorKind::SimpleKeyExpected
        | ErrorKind::BlockEntryInFlowCollection
        | ErrorKind::InvalidIndentation => {
            let line = diagnostics.line(open?);
            let help =
                format!("close the bracket opened on line {line}, or quote strings that contain brackets");
            Some(("unclosed bracket before this".to_owned(), help))
        }
        _ => None,
    }
}
