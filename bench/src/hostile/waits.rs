//! Waits of a client with a thousand requests per second, from an address of its own.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;

use super::pauses::Pauses;
use super::protocols::Protocol;

const FROM: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const PACE: Duration = Duration::from_millis(1);

/// Waits for answers.
#[derive(Clone, Default, Debug)]
pub struct Waits(Vec<Duration>);

impl Waits {
    /// Percentile of the waits, in microseconds.
    pub fn us(&mut self, hundredths: usize) -> f64 {
        self.0.sort_unstable();
        self.0[(self.0.len() - 1) * hundredths / 100].as_secs_f64() * 1e6
    }
}

/// A client that means well, with a connection that it keeps.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    protocol: Protocol,
    requests: u32,
    unread: Vec<u8>,
    pauses: Pauses,
}

impl Client {
    /// Comes before anybody else does.
    pub fn new(server: SocketAddr, protocol: Protocol) -> Self {
        let mut stream = connect(server);
        stream.write_all(&(protocol.greeting)()).expect("the server reads");
        Self { stream, protocol, requests: 0, unread: Vec::new(), pauses: Pauses::watch() }
    }

    /// Sends this many requests. A request behind another one waits from the time when it was due;
    /// while the machine stands still, nothing becomes due.
    pub fn ask(&mut self, requests: usize, waits: &mut Waits) {
        let mut due = Instant::now();
        waits.0.extend((0..requests).map(|_| {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            self.ask_once();
            let answered = Instant::now();
            let paused = self.pauses.between(due, answered);
            let wait = answered.saturating_duration_since(due).saturating_sub(paused);
            due += PACE + paused;
            wait
        }));
    }

    fn ask_once(&mut self) {
        let number = self.requests;
        self.requests += 1;
        self.stream.write_all(&(self.protocol.request)(number)).expect("the server keeps connections");
        let mut buffer = [0; 4_096];
        loop {
            if let Some(end) = (self.protocol.answered)(&self.unread, number) {
                self.unread.drain(..end);
                return;
            }
            match self.stream.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(0) => panic!("the server has closed the connection"),
                read => self.unread.extend_from_slice(&buffer[..read.expect("the server answers")]),
            }
        }
    }
}

/// Connects by a socket of the runtime, which alone can choose its source address.
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
