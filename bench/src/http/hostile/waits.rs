//! How long a client waits that asks a thousand times a second, from an address of its own.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;

use super::super::answer;
use super::pauses::Pauses;

const FROM: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const PACE: Duration = Duration::from_millis(1);
const BODY: &str = r#"{"attributes":{"user":"well-behaved"}}"#;

/// How long answers took.
#[derive(Clone, Default, Debug)]
pub struct Waits(Vec<Duration>);

impl Waits {
    /// So many hundredths of them took no longer, in microseconds.
    pub fn us(&mut self, hundredths: usize) -> f64 {
        self.0.sort_unstable();
        self.0[(self.0.len() - 1) * hundredths / 100].as_secs_f64() * 1e6
    }
}

/// A client that means well, with a connection that it keeps.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    pauses: Pauses,
}

impl Client {
    /// Comes before anybody else does.
    pub fn new(server: SocketAddr) -> Self {
        Self { stream: connect(server), pauses: Pauses::watch() }
    }

    /// Asks so many times. A request that has to wait for the one before it began to wait when it was due; while the machine
    /// stands still nothing becomes due, and nobody waits.
    pub fn ask(&mut self, requests: usize, waits: &mut Waits) {
        let request =
            format!("POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{BODY}", BODY.len());
        let mut due = Instant::now();
        waits.0.extend((0..requests).map(|_| {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            ask(&mut self.stream, request.as_bytes());
            let answered = Instant::now();
            let paused = self.pauses.between(due, answered);
            let wait = answered.saturating_duration_since(due).saturating_sub(paused);
            due += PACE + paused;
            wait
        }));
    }
}

fn ask(stream: &mut TcpStream, request: &[u8]) {
    stream.write_all(request).expect("the server keeps connections");
    let (mut buffer, mut have) = ([0; 4_096], 0);
    loop {
        let more = match stream.read(&mut buffer[have..]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.expect("the server answers"),
        };
        assert!(more > 0, "the server has closed the connection");
        have += more;
        if answer::length(&buffer[..have]) == Some(have) {
            assert!(buffer.starts_with(b"HTTP/1.1 200 "), "{}", buffer[..have].escape_ascii());
            return;
        }
    }
}

/// Only the runtime's sockets can choose where they come from.
fn connect(server: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from((FROM, 0))).expect("an address of this machine");
        socket.connect(server).await.expect("the server listens").into_std().expect("a socket")
    });
    stream.set_nonblocking(false).expect("a socket takes options");
    stream.set_nodelay(true).expect("a socket takes options");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket takes options");
    stream
}
