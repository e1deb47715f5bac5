//! Reference parser: the simplest one, of the whole input, with copies of everything.

use crate::protocols::resp::parser::{Bounds, MAX_HEADER_BYTES, ProtocolError};

/// Maximum length of an incomplete line of a length.
const MAX_UNFINISHED_HEADER_BYTES: usize = 1 + MAX_HEADER_BYTES + 1;

/// Parsed input: commands, and the error that ended it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct ParsedInput {
    pub(crate) commands: Vec<Vec<Vec<u8>>>,
    pub(crate) error: Option<ProtocolError>,
    /// Number of bytes of an incomplete command.
    pub(crate) rest: usize,
}

impl ParsedInput {
    /// Whether commands and incomplete ones are within the bounds. The length of an argument can
    /// only be checked once its line is complete.
    pub(crate) fn is_within(&self, bounds: &Bounds) -> bool {
        let fits = |command: &Vec<Vec<u8>>| {
            command.len() <= bounds.max_arguments
                && command.iter().all(|argument| argument.len() <= bounds.max_bytes)
        };
        self.rest <= bounds.max_bytes + MAX_UNFINISHED_HEADER_BYTES && self.commands.iter().all(fits)
    }
}

/// Outcome of one parse.
enum Look {
    Command(Vec<Vec<u8>>, usize),
    More,
}

pub(crate) fn read(input: &[u8], bounds: &Bounds) -> ParsedInput {
    let (mut rest, mut commands) = (input, Vec::new());
    loop {
        let look = if rest.first() == Some(&b'*') { array(rest, bounds) } else { line(rest, bounds) };
        match look {
            Ok(Look::Command(command, bytes)) => {
                rest = &rest[bytes..];
                commands.extend(Some(command).filter(|command| !command.is_empty()));
            }
            Ok(Look::More) => return ParsedInput { commands, error: None, rest: rest.len() },
            Err(error) => return ParsedInput { commands, error: Some(error), rest: 0 },
        }
    }
}

fn array(input: &[u8], bounds: &Bounds) -> Result<Look, ProtocolError> {
    let errors = (ProtocolError::Count, ProtocolError::CountTooLong);
    let Some((count, mut at)) = number(input, 1, errors)? else { return Ok(Look::More) };
    if count > bounds.max_arguments as i128 {
        return Err(ProtocolError::Count);
    }
    let mut command = Vec::new();
    for _ in 0..count {
        match input.get(at) {
            None => return Ok(Look::More),
            Some(b'$') => {}
            Some(other) => return Err(ProtocolError::NotAString(*other)),
        }
        let errors = (ProtocolError::Length, ProtocolError::LengthTooLong);
        let Some((length, start)) = number(input, at + 1, errors)? else { return Ok(Look::More) };
        let fits = start as i128 + length + 2 <= bounds.max_bytes as i128;
        if length < 0 || length > bounds.max_argument_bytes as i128 || !fits {
            return Err(ProtocolError::Length);
        }
        let end = start + length as usize;
        if input.len() < end + 2 {
            return Ok(Look::More);
        }
        if &input[end..end + 2] != b"\r\n" {
            return Err(ProtocolError::End);
        }
        command.push(input[start..end].to_vec());
        at = end + 2;
    }
    Ok(Look::Command(command, at))
}

/// A number and where its line ends; the errors are for no number, and for one that does not end.
fn number(
    input: &[u8],
    at: usize,
    (none, too_long): (ProtocolError, ProtocolError),
) -> Result<Option<(i128, usize)>, ProtocolError> {
    let rest = &input[at..];
    let sign = usize::from(rest.first() == Some(&b'-'));
    let digits = rest[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (text, after) = rest.split_at(sign + digits);
    if text.len() > 32 {
        return Err(too_long);
    }
    match after {
        [] => Ok(None),
        [b'\r', ..] if digits == 0 => Err(none),
        [b'\r'] => Ok(None),
        [b'\r', b'\n', ..] => {
            let text = std::str::from_utf8(text).expect("digits");
            // 32 digits fit.
            Ok(Some((text.parse().expect("a number"), at + text.len() + 2)))
        }
        _ => Err(none),
    }
}

fn line(input: &[u8], bounds: &Bounds) -> Result<Look, ProtocolError> {
    let end = input.iter().position(|byte| *byte == b'\n');
    if end.unwrap_or(input.len()) > bounds.max_bytes {
        return Err(ProtocolError::LineTooLong);
    }
    let Some(end) = end else { return Ok(Look::More) };
    let words = words(&input[..end]).ok_or(ProtocolError::Quotes)?;
    if words.len() > bounds.max_arguments {
        return Err(ProtocolError::Count);
    }
    Ok(Look::Command(words, end + 1))
}

fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let is_space = |byte: u8| b" \t\n\x0b\x0c\r\0".contains(&byte);
    let (mut words, mut rest) = (Vec::new(), line);
    loop {
        while let [first, after @ ..] = rest
            && is_space(*first)
        {
            rest = after;
        }
        if rest.is_empty() {
            return Some(words);
        }
        let mut word = Vec::new();
        while let [first, after @ ..] = rest
            && !is_space(*first)
        {
            rest = after;
            if matches!(first, b'"' | b'\'') {
                rest = quoted(*first, rest, &mut word)?;
                if rest.first().is_some_and(|byte| !is_space(*byte)) {
                    return None;
                }
            } else {
                word.push(*first);
            }
        }
        words.push(word);
    }
}

/// Rest after the closing quote.
fn quoted<'a>(quote: u8, mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    let hex = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    loop {
        rest = match (quote, rest) {
            (_, []) => return None,
            (_, [first, after @ ..]) if *first == quote => return Some(after),
            (b'\'', [b'\\', b'\'', after @ ..]) => {
                word.push(b'\'');
                after
            }
            (b'"', [b'\\', b'x', high, low, after @ ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                word.push(hex(*high)? * 16 + hex(*low)?);
                after
            }
            (b'"', [b'\\', escaped, after @ ..]) => {
                let control = b"nrtba".iter().position(|byte| byte == escaped);
                word.push(control.map_or(*escaped, |index| b"\n\r\t\x08\x07"[index]));
                after
            }
            (b'"', [b'\\']) => return None,
            (_, [first, after @ ..]) => {
                word.push(*first);
                after
            }
        };
    }
}
