//! HTTP/1.1 messages, as they come over a connection.

use std::io::{BufRead, Error, Result};

/// Request or response.
#[derive(Clone, Debug)]
pub struct HttpMessage {
    /// Request line or status line.
    pub first_line: String,
    /// Headers in their order, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
}

impl HttpMessage {
    /// Reads the next message of a connection; `None` at its end. A message without a length has no
    /// body.
    pub fn read(from: &mut impl BufRead) -> Result<Option<Self>> {
        let Some(first_line) = read_line(from)? else { return Ok(None) };
        let mut message = Self { first_line, headers: Vec::new(), body: Vec::new() };
        while let Some((name, value)) = read_line(from)?.unwrap_or_default().split_once(':') {
            message.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        message.body = match (message.header("transfer-encoding"), message.header("content-length")) {
            (Some(_), _) => read_chunks(from)?,
            (None, Some(length)) => read_bytes(from, length.parse().map_err(Error::other)?)?,
            (None, None) => Vec::new(),
        };
        Ok(Some(message))
    }

    /// Status of a response.
    pub fn status(&self) -> Option<u16> {
        self.first_line.split(' ').nth(1).and_then(|status| status.parse().ok())
    }

    /// First header with this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// Line without its end; `None` at the end of the connection.
fn read_line(from: &mut impl BufRead) -> Result<Option<String>> {
    let mut line = Vec::new();
    let length = from.read_until(b'\n', &mut line)?;
    Ok((length > 0).then(|| String::from_utf8_lossy(line.trim_ascii_end()).into_owned()))
}

fn read_bytes(from: &mut impl BufRead, length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read_chunks(from: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let length = read_line(from)?.unwrap_or_default();
        let length = usize::from_str_radix(&length, 16).map_err(Error::other)?;
        body.extend(read_bytes(from, length)?);
        read_line(from)?;
        if length == 0 {
            return Ok(body);
        }
    }
}
