//! A client with an address of its own.

use std::io::{BufRead, BufReader, Error, Result, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use slidegate_testkit::program::HttpMessage;
use tokio::net::TcpSocket;

const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// Who asks. All of 127.0.0.0/8 is this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client(Ipv4Addr);

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a [u8],
}

/// What came back. Names of headers are in small letters.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) const FIRST: Self = Self(Ipv4Addr::new(127, 0, 0, 2));
    pub(crate) const SECOND: Self = Self(Ipv4Addr::new(127, 0, 0, 3));
    pub(crate) const THIRD: Self = Self(Ipv4Addr::new(127, 0, 0, 4));

    /// Asks on a connection of its own, and has to get an answer.
    pub(crate) fn ask(self, server: SocketAddr, request: &Request<'_>) -> Answer {
        self.try_ask(server, request)
            .unwrap_or_else(|error| panic!("no answer to {}: {error}", request.target))
    }

    /// Asks, and says why if there is no answer.
    pub(crate) fn try_ask(self, server: SocketAddr, request: &Request<'_>) -> Result<Answer> {
        let mut stream = self.connect(server)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        let mut head = format!("{} {} HTTP/1.1\r\nHost: {server}\r\n", request.method, request.target);
        for (name, value) in request.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !request.headers.iter().any(|(name, _)| *name == "Transfer-Encoding") {
            head += &format!("Content-Length: {}\r\n", request.body.len());
        }
        head += "Connection: close\r\n\r\n";
        stream.write_all(&[head.as_bytes(), request.body].concat())?;
        Answer::read(&mut BufReader::new(stream))
    }

    fn connect(self, server: SocketAddr) -> Result<TcpStream> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let stream = runtime.block_on(async {
            let socket = TcpSocket::new_v4()?;
            socket.bind((self.0, 0).into())?;
            socket.connect(server).await?.into_std()
        })?;
        stream.set_nonblocking(false)?;
        Ok(stream)
    }
}

impl Answer {
    /// Reads as far as the answer says that it goes: who refuses without reading the body may reset
    /// the connection after it.
    fn read(from: &mut impl BufRead) -> Result<Self> {
        let message = HttpMessage::read(from)?.ok_or_else(|| Error::other("there is no answer"))?;
        let status = message.status().ok_or_else(|| Error::other("this is not HTTP"))?;
        message.header("content-length").ok_or_else(|| Error::other("a length is missing"))?;
        Ok(Self { status, headers: message.headers, body: message.body })
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Its body, if that is text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap_or("(not text)")
    }
}
