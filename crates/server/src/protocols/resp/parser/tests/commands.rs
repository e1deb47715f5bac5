//! Commands byte by byte, and generated input against a reader that is as simple as it can be.

use slidegate_testkit::cases::{Rng, prove};

use super::comparison::{compare, in_pieces};
use super::reference_parser::ParsedInput;
use crate::protocols::resp::parser::*;

const BOUNDS: Bounds =
    Bounds { max_arguments: 5, max_argument_bytes: 40, max_bytes: 100, caller: AuthState::Authenticated };

fn read(input: &[u8], pieces: impl IntoIterator<Item = usize>) -> ParsedInput {
    in_pieces(input, pieces, &BOUNDS)
}

fn words(input: &ParsedInput) -> Vec<String> {
    let text = |command: &Vec<Vec<u8>>| {
        command.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>().join("|")
    };
    input.commands.iter().map(text).collect()
}

#[test]
fn what_is_a_command() {
    let rows: [(&str, &[&str]); 17] = [
        ("*1\r\n$4\r\nPING\r\n", &["PING"]),
        ("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", &["ECHO|"]),
        ("*2\r\n$4\r\nECHO\r\n$4\r\n\r\n$1\r\n", &["ECHO|\r\n$1"]),
        ("*1\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n", &["a", "b"]),
        ("*0\r\n*-1\r\n\r\n  \r\n\n*1\r\n$1\r\na\r\n", &["a"]),
        ("*1\r\n$0000000000000000000000000000004\r\nPING\r\n", &["PING"]),
        ("PING\r\n", &["PING"]),
        ("PING\n", &["PING"]),
        ("  set  a\tb \r\n", &["set|a|b"]),
        ("a \"b c\" 'd e'\r\n", &["a|b c|d e"]),
        ("a \"\\x41\\n\\\"\\q\\xg\" '\\'\\n'\r\n", &["a|A\n\"qxg|'\\n"]),
        ("a\"b\" c'd'\r\n", &["ab|cd"]),
        ("\"\" ''\r\n", &["|"]),
        ("*1\r\n$4\r\nPIN", &[]),
        ("*1\r\n$4\r", &[]),
        ("*", &[]),
        ("PING", &[]),
    ];
    for (input, commands) in rows {
        let parsed = read(input.as_bytes(), []);
        assert_eq!(
            (words(&parsed), parsed.error),
            (commands.iter().map(|&one| one.to_owned()).collect(), None),
            "{input:?}"
        );
    }
}

#[test]
fn what_is_none() {
    use ProtocolError::*;
    let long = |length: usize| "x".repeat(length);
    let rows = [
        ("*6\r\n".to_owned(), Count),
        ("*99999999999999999999\r\n".to_owned(), Count),
        ("*x\r\n".to_owned(), Count),
        ("*\r\n".to_owned(), Count),
        ("*-\r\n".to_owned(), Count),
        ("*1\n".to_owned(), Count),
        ("*1\rx".to_owned(), Count),
        (format!("*{}", "1".repeat(40)), CountTooLong),
        ("*1\r\n$41\r\n".to_owned(), Length),
        ("*1\r\n$-1\r\n".to_owned(), Length),
        ("*1\r\n$ 1\r\n".to_owned(), Length),
        ("*1\r\n$9223372036854775807\r\n".to_owned(), Length),
        (format!("*1\r\n${}", "1".repeat(40)), LengthTooLong),
        (format!("*3\r\n$40\r\n{}\r\n$40\r\n{}\r\n$20\r\n", long(40), long(40)), Length),
        ("*1\r\n*1\r\n".to_owned(), NotAString(b'*')),
        ("*1\r\n:1\r\n".to_owned(), NotAString(b':')),
        ("*1\r\n\r\n".to_owned(), NotAString(b'\r')),
        ("*1\r\n$1\r\nabc".to_owned(), End),
        ("*1\r\n$1\r\na\rb".to_owned(), End),
        (long(101), LineTooLong),
        (format!("{}\n", long(101)), LineTooLong),
        ("a b c d e f\n".to_owned(), Count),
        ("a \"b\n".to_owned(), Quotes),
        ("a 'b\n".to_owned(), Quotes),
        ("a \"b\"c\n".to_owned(), Quotes),
        ("a \"b\\\n".to_owned(), Quotes),
    ];
    for (input, error) in rows {
        assert_eq!(read(input.as_bytes(), []).error, Some(error), "{input:?}");
    }
}

#[test]
fn strangers_may_say_less() {
    let stranger = Bounds { caller: AuthState::Anonymous, ..BOUNDS };
    for (input, error) in
        [("*6\r\n", ProtocolError::AnonymousCount), ("*1\r\n$41\r\n", ProtocolError::AnonymousLength)]
    {
        let command_error = Parser::default().next(&mut input.as_bytes().to_vec(), &stranger);
        assert_eq!(command_error, Err(error), "{input:?}");
    }
}

/// A piece of input: mostly what a client may send, or nearly that.
fn piece(rng: &Rng) -> Vec<u8> {
    let word = || -> Vec<u8> {
        let length = rng.pick(&[0, 1, 1, 2, 3, 5, 39, 40, 41]);
        (0..length).map(|_| rng.pick(b"aB0$*-: \r\n\"'\\x\0\xff")).collect()
    };
    match rng.below(10) {
        0..=5 => {
            let words: Vec<_> = (0..rng.below(6)).map(|_| word()).collect();
            let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
            for word in words {
                bytes.extend([format!("${}\r\n", word.len()).as_bytes(), &word, b"\r\n"].concat());
            }
            // A byte that is wrong, missing or one too many.
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(12) {
                0 => bytes[at] = rng.pick(b"0129$*-\r\n "),
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, rng.pick(b"019$\r\n-")),
                _ => {}
            }
            bytes
        }
        6 | 7 => {
            let line = (0..rng.below(12)).map(|_| rng.pick(b"ab \t\"'\\xn41\0"));
            line.chain(rng.pick(&[&b"\r\n"[..], b"\n", b"\r", b""]).iter().copied()).collect()
        }
        8 => {
            rng.pick(&[&b"\r\n"[..], b"*0\r\n", b"*-1\r\n", b"*-99999999999999999999999\r\n", b"\n"]).to_vec()
        }
        _ => rng
            .pick(&[
                &b"*1\r\n$999999999999\r\n"[..],
                b"*1\r\n*1\r\n",
                b"*99999999999999999999999999999999999",
                b"*1\r\n$",
                b"*01\r\n$0000000000000000000001\r\na\r\n",
            ])
            .to_vec(),
    }
}

/// However it is cut, it is read as the simple reader reads it in one piece.
#[test]
fn generated_input_is_read_as_by_the_naive_reader() {
    let generate = |rng: &Rng| {
        let pieces = (0..rng.between(1, 6)).map(|_| piece(rng)).collect();
        let cuts: Vec<usize> = (0..8).map(|_| rng.below(40) as usize).collect();
        (cuts, pieces)
    };
    prove(generate, |cuts: &Vec<usize>, pieces: &[Vec<u8>]| compare(&pieces.concat(), cuts, &BOUNDS));
}

/// It ends where the bound is, and no length fits any more; that is noticed once it has come.
#[test]
fn a_length_beyond_the_bound() {
    let full = format!("*3\r\n$40\r\n{0}\r\n$40\r\n{0}\r\n", "x".repeat(40));
    for (length, rest) in [("$", 99), ("$1\r", 101), (&*format!("${}\r", "1".repeat(32)), 132)] {
        let input = format!("{full}{length}");
        assert_eq!(compare(input.as_bytes(), &[], &BOUNDS), Ok(()), "{length:?}");
        assert_eq!(read(input.as_bytes(), []).rest, rest, "{length:?}");
        assert!(read(format!("{input}\n").as_bytes(), []).error.is_some(), "{length:?}");
    }
}
