//! What the parser saw of some input: to be compared.

use super::parser::{Bounds, Parser, ProtocolError, Step};

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
}
