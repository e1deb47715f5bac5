//! A TCP proxy that breaks on demand: the network between a client and a server.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use super::link::{Link, ReplyFault};
use super::ports;

/// What happens to a connection whose reply was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterDrop {
    /// The client learns at once that something is wrong.
    Close,
    /// The client hears nothing ever again on it, whatever the proxy does later.
    Hang,
}

/// What passed so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Connections.
    pub connections: u64,
    /// Bytes that went to the server.
    pub requests: u64,
    /// Bytes that came from the server.
    pub replies: u64,
    /// Those of them that the client got.
    pub delivered: u64,
}

/// Passes everything until told otherwise. Requests always get through; it is replies and
/// connections that break.
pub struct Proxy {
    port: u16,
    link: Arc<Link>,
    accepting: Mutex<Option<JoinHandle<()>>>,
}

impl Proxy {
    /// In front of whatever listens on a port of loopback, now or later.
    pub fn start(server_port: u16) -> Self {
        let proxy = Self {
            port: ports::free_port(),
            link: Arc::new(Link::to(server_port)),
            accepting: Mutex::default(),
        };
        proxy.accept();
        proxy
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Everything works again, for new connections and for those that lost nothing.
    pub fn pass(&self) {
        self.link.treat(ReplyFault::Pass);
        self.accept();
    }

    /// Requests arrive at the server and take effect there, but nobody hears of it.
    pub fn drop_replies(&self, then: AfterDrop) {
        self.link.treat(ReplyFault::Drop(then));
    }

    /// Of the next reply on each connection the client gets the first byte, and then nothing ever
    /// again.
    pub fn break_off(&self) {
        self.link.treat(ReplyFault::BreakOff);
    }

    /// What arrives from the server waits this long before it goes on.
    pub fn delay(&self, delay: Duration) {
        self.link.treat(ReplyFault::Delay(delay));
    }

    /// Closes all connections. New ones are taken.
    pub fn cut(&self) {
        self.link.cut();
    }

    /// Takes no new connections, as if nobody were listening. Open ones stay: [`Self::cut`] closes
    /// them.
    pub fn refuse(&self) {
        let Some(accepting) = self.accepting.lock().take() else { return };
        self.link.refusing.store(true, Ordering::SeqCst);
        // Wakes the thread, which then sees that it has to end.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        accepting.join().expect("no panic");
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        let counts = [&self.link.connections, &self.link.requests, &self.link.replies, &self.link.delivered];
        let [connections, requests, replies, delivered] =
            counts.map(|counter| counter.load(Ordering::SeqCst));
        Counts { connections, requests, replies, delivered }
    }

    fn accept(&self) {
        let mut accepting = self.accepting.lock();
        if accepting.is_some() {
            return;
        }
        let listener = TcpListener::bind(("127.0.0.1", self.port)).expect("the port of the proxy");
        self.link.refusing.store(false, Ordering::SeqCst);
        let link = Arc::clone(&self.link);
        *accepting = Some(thread::spawn(move || link.accept(&listener)));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.refuse();
        self.cut();
    }
}
