//! RESP2 client of the tests: one command, one reply.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Reply of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RespReply {
    /// `+OK`
    Simple(String),
    /// `-ERR …`
    Error(String),
    /// `:1`
    Int(i64),
    /// Bytes with a length, or none.
    Bulk(Option<Vec<u8>>),
    /// List of replies.
    Array(Vec<RespReply>),
}

impl RespReply {
    /// Text of a simple or bulk reply.
    pub fn text(&self) -> String {
        match self {
            Self::Simple(text) => text.clone(),
            Self::Bulk(Some(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("not a text: {other:?}"),
        }
    }

    /// Elements of an array.
    pub fn items(self) -> Vec<RespReply> {
        match self {
            Self::Array(items) => items,
            other => panic!("not an array: {other:?}"),
        }
    }
}

/// Connection to a server.
pub(super) struct Wire(BufReader<TcpStream>);

impl Wire {
    /// Connects, with timeouts, so that a server that is stopped does not stop the test.
    pub(super) fn connect(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    pub(super) fn call<A: AsRef<[u8]>>(&mut self, words: &[A]) -> io::Result<RespReply> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words.iter().map(A::as_ref) {
            request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        self.0.get_mut().write_all(&request)?;
        self.reply()
    }

    fn reply(&mut self) -> io::Result<RespReply> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let line = line.strip_suffix("\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        let (kind, rest) = line.split_at_checked(1).ok_or(io::ErrorKind::InvalidData)?;
        Ok(match kind {
            "+" => RespReply::Simple(rest.to_owned()),
            "-" => RespReply::Error(rest.to_owned()),
            ":" => RespReply::Int(number(rest)?),
            "$" => RespReply::Bulk(self.bulk(number(rest)?)?),
            "*" => RespReply::Array((0..number(rest)?).map(|_| self.reply()).collect::<io::Result<_>>()?),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        })
    }

    /// Bulk reply of this length; a negative length means that there is none.
    fn bulk(&mut self, length: i64) -> io::Result<Option<Vec<u8>>> {
        let Ok(length) = usize::try_from(length) else { return Ok(None) };
        let mut bytes = vec![0; length + 2];
        self.0.read_exact(&mut bytes)?;
        bytes.truncate(length);
        Ok(Some(bytes))
    }
}

fn number(text: &str) -> io::Result<i64> {
    text.parse().map_err(|_| io::ErrorKind::InvalidData.into())
}
