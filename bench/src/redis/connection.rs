//! Blocking connection without a client library, with commands that were packed beforehand.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::resp::{Reply, pack};

/// A connection to the server.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    /// Received bytes, up to `end`.
    buffer: Vec<u8>,
    end: usize,
}

impl Connection {
    /// Connects, or says why not.
    pub fn open(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; 1 << 16], end: 0 })
    }

    /// Sends packed commands.
    pub fn send(&mut self, packed: &[u8]) {
        self.stream.write_all(packed).expect("the server takes commands");
    }

    /// Shows each of the replies that are due, of which there have to be so many.
    pub fn receive(&mut self, replies: usize, mut show: impl FnMut(Reply<'_>)) {
        let (mut at, mut count) = (0, 0);
        self.end = 0;
        while count < replies {
            self.read_more();
            while let Some((reply, length)) = Reply::parse(&self.buffer[at..self.end]) {
                show(reply);
                at += length;
                count += 1;
            }
        }
        assert!(count == replies && at == self.end, "the server answers what was asked, no more");
    }

    fn read_more(&mut self) {
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.end, 0);
        }
        let received = self.stream.read(&mut self.buffer[self.end..]).expect("the server answers");
        assert!(received > 0, "the server hung up");
        self.end += received;
    }

    /// Sends a command that has to succeed.
    pub fn run(&mut self, command: &[&str]) {
        self.show(command, |_| ());
    }

    /// Sends a command, and maps its reply.
    pub fn show<A: AsRef<[u8]>, R>(&mut self, command: &[A], make: impl FnOnce(Reply<'_>) -> R) -> R {
        self.send(&pack(command));
        let (mut make, mut made) = (Some(make), None);
        self.receive(1, |reply| made = make.take().map(|make| make(reply)));
        made.expect("there is one reply")
    }

    /// Sends a command whose reply is text.
    pub fn ask(&mut self, command: &[&str]) -> String {
        self.show(command, |reply| reply.text().to_owned())
    }

    /// A field of a section of INFO.
    pub fn info(&mut self, section: &str, field: &str) -> Option<String> {
        let info = self.ask(&["INFO", section]);
        let line = |line: &str| Some(line.strip_prefix(field)?.strip_prefix(':')?.to_owned());
        info.lines().find_map(line)
    }
}
