//! What the parser saw of some input, beside what there is to be seen.

use super::parser::{Bounds, MAX_HEADER_BYTES, Parser, ProtocolError, Step};
use super::reference_parser;

/// The most of a line that tells a length, without what ends it.
const MAX_UNFINISHED_HEADER_BYTES: usize = 1 + MAX_HEADER_BYTES + 1;

/// Holds the parser against the naive reader, however the input is cut, and what both see against the bounds.
pub(crate) fn compare(input: &[u8], cuts: &[usize], bounds: &Bounds) -> Result<(), String> {
    let expected = reference_parser::read(input, bounds);
    if !expected.is_within(bounds) {
        return Err(format!("beyond its bounds: {expected:?}"));
    }
    for (how, pieces) in [("whole", &[][..]), ("byte by byte", &vec![1; input.len()]), ("cut", cuts)] {
        let seen = Seen::in_pieces(input, pieces.iter().copied(), bounds);
        if seen != expected {
            return Err(format!("{how}: {seen:?}, not {expected:?}"));
        }
    }
    Ok(())
}

/// What was read of an input: commands, and what ended it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub(crate) commands: Vec<Vec<Vec<u8>>>,
    pub(crate) error: Option<ProtocolError>,
    /// How many bytes have not come to their end.
    pub(crate) rest: usize,
}

impl Seen {
    /// Reads input that comes in pieces of these lengths, and then the rest of it.
    pub(crate) fn in_pieces(input: &[u8], pieces: impl IntoIterator<Item = usize>, bounds: &Bounds) -> Self {
        let mut parser = Parser::default();
        let (mut buffer, mut given) = (Vec::new(), 0);
        let mut commands = Vec::new();
        for piece in pieces.into_iter().chain([input.len()]) {
            let end = input.len().min(given + piece);
            buffer.extend_from_slice(&input[given..end]);
            given = end;
            loop {
                match parser.next(&mut buffer, bounds) {
                    Ok(Step::More) => break,
                    Ok(Step::Nothing(bytes)) => drop(buffer.drain(..bytes)),
                    Ok(Step::Command(bytes)) => {
                        let spans = parser.arguments().iter();
                        commands.push(spans.map(|span| buffer[span.start..span.end].to_vec()).collect());
                        buffer.drain(..bytes);
                    }
                    Err(error) => return Self { commands, error: Some(error), rest: 0 },
                }
            }
        }
        Self { commands, error: None, rest: buffer.len() }
    }

    /// Whether what comes to its end has a bound, and what is kept until it does. How long an argument is can only be judged once all of
    /// that line is here.
    fn is_within(&self, bounds: &Bounds) -> bool {
        let fits = |command: &Vec<Vec<u8>>| {
            command.len() <= bounds.max_arguments
                && command.iter().all(|argument| argument.len() <= bounds.max_bytes)
        };
        self.rest <= bounds.max_bytes + MAX_UNFINISHED_HEADER_BYTES && self.commands.iter().all(fits)
    }
}
