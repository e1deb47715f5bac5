//! How long a client waits that asks a thousand times a second, from an address of its own.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;

use super::super::answer;

const FROM: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const PACE: Duration = Duration::from_millis(1);
const BODY: &str = r#"{"attributes":{"user":"well-behaved"}}"#;

/// Half of the answers took no longer than the one, and 99 of 100 no longer than the other.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// In microseconds.
    pub p50_us: f64,
    /// In microseconds.
    pub p99_us: f64,
}

/// A client that means well, with a connection that it keeps.
#[derive(Debug)]
pub struct Client(TcpStream);

impl Client {
    /// Comes before anybody else does.
    pub fn new(server: SocketAddr) -> Self {
        Self(connect(server))
    }

    /// Asks so many times. A request that has to wait for the one before it began to wait when it was due.
    pub fn measure(&mut self, requests: usize) -> Waits {
        let request =
            format!("POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{BODY}", BODY.len());
        let began = Instant::now();
        let mut waits: Vec<Duration> = (0..requests)
            .map(|number| {
                let due = began + PACE * number as u32;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                ask(&mut self.0, request.as_bytes());
                due.elapsed()
            })
            .collect();
        waits.sort_unstable();
        let at = |hundredths: usize| waits[(waits.len() - 1) * hundredths / 100].as_secs_f64() * 1e6;
        Waits { p50_us: at(50), p99_us: at(99) }
    }
}

fn ask(stream: &mut TcpStream, request: &[u8]) {
    stream.write_all(request).expect("the server keeps connections");
    let (mut buffer, mut have) = ([0; 4_096], 0);
    loop {
        let more = stream.read(&mut buffer[have..]).expect("the server answers");
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
