//! The server's protocol, as far as the measurements speak it.

/// A command as it goes over the wire.
pub fn pack<A: AsRef<[u8]>>(arguments: &[A]) -> Vec<u8> {
    let mut packed = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments.iter().map(AsRef::as_ref) {
        packed.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        packed.extend_from_slice(argument);
        packed.extend_from_slice(b"\r\n");
    }
    packed
}

/// Reply of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply<'a> {
    /// A line, such as `OK`.
    Line(&'a [u8]),
    /// A number, or the first one of an array of numbers.
    Number(i64),
    /// Bytes.
    Bytes(&'a [u8]),
    /// Null, or an array without items.
    Nothing,
}

impl<'a> Reply<'a> {
    /// The reply that begins here, and its length; nothing if there is more to come.
    ///
    /// # Panics
    /// If it is an error: then the figure would mean something else.
    pub fn parse(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
        let (line, head) = (&bytes[1..end], end + 2);
        match bytes[0] {
            b'+' => Some((Self::Line(line), head)),
            b':' => Some((Self::Number(number(line)), head)),
            b'$' => {
                let Ok(length) = usize::try_from(number(line)) else {
                    return Some((Self::Nothing, head));
                };
                let body = bytes.get(head..head + length + 2)?;
                Some((Self::Bytes(&body[..length]), head + length + 2))
            }
            b'*' => Self::parse_array(bytes, head, number(line)),
            _ => panic!("the server answered {}", String::from_utf8_lossy(line)),
        }
    }

    fn parse_array(bytes: &'a [u8], head: usize, items: i64) -> Option<(Self, usize)> {
        if items < 1 {
            return Some((Self::Nothing, head));
        }
        let (first, mut length) = Self::parse(&bytes[head..])?;
        for _ in 1..items {
            length += Self::parse(&bytes[head + length..])?.1;
        }
        Some((first, head + length))
    }

    /// The text of a reply that is one.
    pub fn text(&self) -> &'a str {
        match self {
            Self::Line(text) | Self::Bytes(text) => std::str::from_utf8(text).expect("the server sends text"),
            Self::Number(_) | Self::Nothing => panic!("the server sent {self:?} instead of text"),
        }
    }
}

fn number(digits: &[u8]) -> i64 {
    let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
    number.expect("the server counts in digits")
}

#[cfg(test)]
mod tests {
    use super::{Reply, pack};

    #[test]
    fn commands_are_arrays_of_strings() {
        assert_eq!(pack(&["GET", "a b"]), b"*2\r\n$3\r\nGET\r\n$3\r\na b\r\n");
    }

    #[test]
    fn replies_are_read_once_they_are_whole() {
        let cases: [(&[u8], Reply<'_>); 6] = [
            (b"+OK\r\n", Reply::Line(b"OK")),
            (b":-7\r\n", Reply::Number(-7)),
            (b"$4\r\n1\r\n2\r\n", Reply::Bytes(b"1\r\n2")),
            (b"*2\r\n:1\r\n:99\r\n", Reply::Number(1)),
            (b"*0\r\n", Reply::Nothing),
            (b"$-1\r\n", Reply::Nothing),
        ];
        for (bytes, reply) in cases {
            let with_more = [bytes, b":5\r\n"].concat();
            assert_eq!(Reply::parse(&with_more), Some((reply, bytes.len())));
            for length in 0..bytes.len() {
                assert_eq!(Reply::parse(&bytes[..length]), None, "{length} bytes of {reply:?}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "NOSCRIPT")]
    fn an_error_ends_the_measurement() {
        Reply::parse(b"-NOSCRIPT No matching script\r\n");
    }
}
