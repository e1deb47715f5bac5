//! Parser of commands: arrays of bulk strings, and inline commands.
//!
//! A command that comes in parts is parsed from its last complete argument on, so that none is
//! parsed twice. Nothing is copied: a command is the positions of its arguments.

use std::fmt;

use super::inline;
pub(crate) use super::inline::ArgumentSpan;
#[cfg(feature = "fuzzing")]
pub use tests::comparison::compare_parsers;

/// Maximum length of the line of a length: a sign, 20 digits, and the line end.
pub(crate) const MAX_HEADER_BYTES: usize = 32;
/// Maximum length of an inline command.
const MAX_LINE_BYTES: usize = 64 << 10;

/// Limits of one command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    /// Maximum number of arguments, the name of the command included.
    pub(crate) max_arguments: usize,
    /// Maximum length of an argument.
    pub(crate) max_argument_bytes: usize,
    /// Maximum length of the command.
    pub(crate) max_bytes: usize,
    /// State of the client that has these bounds.
    pub(crate) caller: AuthState,
}

/// Authentication state of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AuthState {
    /// The client has authenticated, or need not.
    Authenticated,
    /// The client has not authenticated.
    Anonymous,
}

/// Outcome of a parse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParseStep {
    /// A command of this many bytes. [`Parser::arguments`] has the positions of its arguments.
    Command(usize),
    /// Bytes without a command: an empty line, or an array without elements.
    Nothing(usize),
    /// The command is incomplete.
    More,
}

/// Parser of commands.
#[derive(Default, Debug)]
pub(crate) struct Parser {
    arguments: Vec<ArgumentSpan>,
    /// Position in the command.
    at: usize,
    /// Number of missing arguments; `None` at the beginning of a command.
    missing: Option<usize>,
}

impl Parser {
    /// Parses a command at the beginning of the input, from the position of the last call on. An
    /// error is final: the beginning of the next command is unknown.
    pub(crate) fn next(&mut self, input: &mut [u8], bounds: &Bounds) -> Result<ParseStep, ProtocolError> {
        let missing = match (self.missing, input.first()) {
            (Some(missing), _) => missing,
            (None, None) => return Ok(ParseStep::More),
            (None, Some(b'*')) => match self.count(input, bounds)? {
                Some(Header { value: 0, end }) => return Ok(self.nothing(end)),
                Some(Header { value, end }) => {
                    self.at = end;
                    value
                }
                None => return Ok(ParseStep::More),
            },
            (None, Some(_)) => return self.line(input, bounds),
        };
        for missing in (1..=missing).rev() {
            self.missing = Some(missing);
            let Some(span) = argument(input, self.at, bounds)? else { return Ok(ParseStep::More) };
            self.arguments.push(span);
            self.at = span.end + 2;
        }
        self.missing = None;
        Ok(ParseStep::Command(std::mem::take(&mut self.at)))
    }

    /// Positions of the arguments of the last command, its name first.
    #[inline]
    pub(crate) fn arguments(&self) -> &[ArgumentSpan] {
        &self.arguments
    }

    fn nothing(&mut self, bytes: usize) -> ParseStep {
        self.at = 0;
        ParseStep::Nothing(bytes)
    }

    /// Number of arguments of an array.
    fn count(&mut self, input: &[u8], bounds: &Bounds) -> Result<Option<Header>, ProtocolError> {
        self.arguments.clear();
        let (value, end) = match number(input, 1) {
            ParsedNumber::Is(value, end) => (value, end),
            ParsedNumber::More => return Ok(None),
            ParsedNumber::TooLong => return Err(ProtocolError::CountTooLong),
            ParsedNumber::Invalid => return Err(ProtocolError::Count),
        };
        // As in Redis, a count of zero or less is no command.
        let value = usize::try_from(value).unwrap_or(0);
        if value > bounds.max_arguments {
            return Err(match bounds.caller {
                AuthState::Authenticated => ProtocolError::Count,
                AuthState::Anonymous => ProtocolError::AnonymousCount,
            });
        }
        Ok(Some(Header { value, end }))
    }

    /// Parses an inline command.
    fn line(&mut self, input: &mut [u8], bounds: &Bounds) -> Result<ParseStep, ProtocolError> {
        self.arguments.clear();
        let most = MAX_LINE_BYTES.min(bounds.max_bytes);
        let Some(length) = input[self.at..].iter().position(|byte| *byte == b'\n') else {
            self.at = input.len();
            return if self.at > most { Err(ProtocolError::LineTooLong) } else { Ok(ParseStep::More) };
        };
        let end = self.at + length;
        if end > most {
            return Err(ProtocolError::LineTooLong);
        }
        inline::split(&mut input[..end], &mut self.arguments).ok_or(ProtocolError::Quotes)?;
        self.at = 0;
        match self.arguments.len() {
            0 => Ok(ParseStep::Nothing(end + 1)),
            many if many > bounds.max_arguments => Err(ProtocolError::Count),
            _ => Ok(ParseStep::Command(end + 1)),
        }
    }
}

/// Number of elements or bytes, and the position after its line.
struct Header {
    value: usize,
    end: usize,
}

/// Argument at this position, if it is complete.
#[inline]
fn argument(input: &[u8], at: usize, bounds: &Bounds) -> Result<Option<ArgumentSpan>, ProtocolError> {
    match input.get(at) {
        None => return Ok(None),
        Some(b'$') => {}
        Some(other) => return Err(ProtocolError::NotAString(*other)),
    }
    let (length, start) = match number(input, at + 1) {
        ParsedNumber::Is(value, end) => (value, end),
        ParsedNumber::More => return Ok(None),
        ParsedNumber::TooLong => return Err(ProtocolError::LengthTooLong),
        ParsedNumber::Invalid => return Err(ProtocolError::Length),
    };
    let length = usize::try_from(length).map_err(|_| ProtocolError::Length)?;
    if length > bounds.max_argument_bytes || start + length + 2 > bounds.max_bytes {
        return Err(match bounds.caller {
            AuthState::Authenticated => ProtocolError::Length,
            AuthState::Anonymous => ProtocolError::AnonymousLength,
        });
    }
    let end = start + length;
    match input.get(end..end + 2) {
        None => Ok(None),
        Some(b"\r\n") => Ok(Some(ArgumentSpan { start, end })),
        Some(_) => Err(ProtocolError::End),
    }
}

enum ParsedNumber {
    /// Number, and the position after its line.
    Is(i64, usize),
    More,
    TooLong,
    Invalid,
}

/// Number of a line: digits, perhaps with a minus.
#[inline(always)]
fn number(input: &[u8], at: usize) -> ParsedNumber {
    // Most lengths have one digit or two.
    match input.get(at..) {
        Some([one @ b'0'..=b'9', b'\r', b'\n', ..]) => {
            return ParsedNumber::Is(i64::from(one - b'0'), at + 3);
        }
        Some([ten @ b'0'..=b'9', one @ b'0'..=b'9', b'\r', b'\n', ..]) => {
            return ParsedNumber::Is(i64::from(ten - b'0') * 10 + i64::from(one - b'0'), at + 4);
        }
        _ => {}
    }
    any_number(input, at)
}

/// Number of any length.
#[inline(never)]
fn any_number(input: &[u8], at: usize) -> ParsedNumber {
    let mut digits: i64 = 0;
    for (index, byte) in input[at..].iter().enumerate() {
        match byte {
            b'0'..=b'9' if index < MAX_HEADER_BYTES => {
                digits = digits.saturating_mul(10).saturating_add(i64::from(byte - b'0'));
            }
            b'\r' if index != 0 && (input[at] != b'-' || index != 1) => {
                let end = at + index + 1;
                return match input.get(end) {
                    None => ParsedNumber::More,
                    Some(b'\n') => {
                        ParsedNumber::Is(if input[at] == b'-' { -digits } else { digits }, end + 1)
                    }
                    Some(_) => ParsedNumber::Invalid,
                };
            }
            b'-' if index == 0 => {}
            b'0'..=b'9' => return ParsedNumber::TooLong,
            _ => return ParsedNumber::Invalid,
        }
    }
    ParsedNumber::More
}

/// Protocol error: no further command can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProtocolError {
    /// The number of arguments is invalid, or too large.
    Count,
    /// As above, before authentication.
    AnonymousCount,
    /// The number of arguments does not end.
    CountTooLong,
    /// An argument's length is invalid, or too large.
    Length,
    /// As above, before authentication.
    AnonymousLength,
    /// An argument's length does not end.
    LengthTooLong,
    /// An argument is something else than a string.
    NotAString(u8),
    /// An argument does not end where it should.
    End,
    /// A line is longer than a line may be.
    LineTooLong,
    /// A quote that is opened and not closed.
    Quotes,
}

/// In the words of Redis, where it has some.
impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Count => "invalid multibulk length",
            Self::AnonymousCount => "unauthenticated multibulk length",
            Self::CountTooLong => "too big mbulk count string",
            Self::Length => "invalid bulk length",
            Self::AnonymousLength => "unauthenticated bulk length",
            Self::LengthTooLong => "too big bulk count string",
            Self::End => "a bulk string is longer than its length says",
            Self::LineTooLong => "too big inline request",
            Self::Quotes => "unbalanced quotes in request",
            Self::NotAString(got) => return write!(f, "expected '$', got '{}'", printable(*got)),
        })
    }
}

fn printable(byte: u8) -> char {
    if byte.is_ascii_graphic() { char::from(byte) } else { '?' }
}

#[cfg(any(test, feature = "fuzzing"))]
mod tests;
