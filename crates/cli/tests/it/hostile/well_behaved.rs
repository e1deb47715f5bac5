//! Somebody else, who asks one thing after the other and has to get every answer.

use std::io::{BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpSocket;

use super::protocols::Protocol;

/// Another address of this machine than the one that attacks come from.
const FROM: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// After so many requests comes another connection.
const PER_CONNECTION: u32 = 20;

pub(crate) struct WellBehaved {
    over: Arc<AtomicBool>,
    answers: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl WellBehaved {
    pub(crate) fn begin(protocol: Protocol, server: SocketAddr) -> Self {
        let (over, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (is_over, count) = (Arc::clone(&over), Arc::clone(&answers));
        let thread = std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let mut stream = connect(server);
                stream.get_mut().write_all(&(protocol.greeting)()).expect("it is read");
                for number in 0..PER_CONNECTION {
                    stream.get_mut().write_all(&(protocol.request)(number)).expect("it is read");
                    (protocol.read)(&mut stream, number)
                        .unwrap_or_else(|error| panic!("{}: {error}", protocol.name));
                    count.fetch_add(1, Ordering::Relaxed);
                    // Asks often, but is no attack itself.
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
        });
        Self { over, answers, thread }
    }

    pub(crate) fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// Fails if anything was not answered.
    pub(crate) fn end(self) -> u64 {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().expect("every request was answered");
        self.answers.load(Ordering::Relaxed)
    }
}

/// Only the runtime's sockets can choose where they come from.
fn connect(server: SocketAddr) -> BufReader<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from((FROM, 0))).expect("an address of this machine");
        socket.connect(server).await.expect("the server listens").into_std().expect("a socket")
    });
    stream.set_nonblocking(false).expect("a socket");
    stream.set_nodelay(true).expect("a socket");
    stream.set_read_timeout(Some(super::OVER)).expect("a socket");
    BufReader::new(stream)
}
