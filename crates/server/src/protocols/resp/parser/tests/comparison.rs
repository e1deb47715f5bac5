//! Comparison of the parser with the reference parser.

use super::reference_parser::{self, ParsedInput};
use crate::protocols::resp::parser::{Bounds, ParseStep, Parser};

/// Compares the parsers within small bounds, which a short input can exceed.
#[cfg(feature = "fuzzing")]
pub fn compare_parsers(input: &[u8], cuts: &[usize]) -> Result<(), String> {
    let caller = crate::protocols::resp::parser::AuthState::Authenticated;
    compare(input, cuts, &Bounds { max_arguments: 8, max_argument_bytes: 64, max_bytes: 256, caller })
}

/// Compares the parser with the reference parser, however the input is cut, and checks the bounds.
pub(crate) fn compare(input: &[u8], cuts: &[usize], bounds: &Bounds) -> Result<(), String> {
    let expected = reference_parser::read(input, bounds);
    if !expected.is_within(bounds) {
        return Err(format!("beyond its bounds: {expected:?}"));
    }
    for (how, pieces) in [("whole", &[][..]), ("byte by byte", &vec![1; input.len()]), ("cut", cuts)] {
        let parsed = in_pieces(input, pieces.iter().copied(), bounds);
        if parsed != expected {
            return Err(format!("{how}: {parsed:?}, not {expected:?}"));
        }
    }
    Ok(())
}

/// Reads input that comes in pieces of these lengths, and then the rest of it.
pub(crate) fn in_pieces(
    input: &[u8],
    pieces: impl IntoIterator<Item = usize>,
    bounds: &Bounds,
) -> ParsedInput {
    let mut parser = Parser::default();
    let (mut buffer, mut start) = (Vec::new(), 0);
    let mut commands = Vec::new();
    for piece in pieces.into_iter().chain([input.len()]) {
        let end = input.len().min(start + piece);
        buffer.extend_from_slice(&input[start..end]);
        start = end;
        loop {
            match parser.next(&mut buffer, bounds) {
                Ok(ParseStep::More) => break,
                Ok(ParseStep::Nothing(bytes)) => drop(buffer.drain(..bytes)),
                Ok(ParseStep::Command(bytes)) => {
                    let spans = parser.arguments().iter();
                    commands.push(spans.map(|span| buffer[span.start..span.end].to_vec()).collect());
                    buffer.drain(..bytes);
                }
                Err(error) => return ParsedInput { commands, error: Some(error), rest: 0 },
            }
        }
    }
    ParsedInput { commands, error: None, rest: buffer.len() }
}
