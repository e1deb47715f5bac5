//! TCP proxy that breaks connections on demand: the network between a client and a server.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use super::link::{Link, ReplyFault};
use super::ports;

/// Fate of a connection whose reply was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterDrop {
    /// The connection is closed: the client notices at once.
    Close,
    /// The connection stays open, and the client never receives anything on it again.
    Hang,
}

/// Traffic of a proxy so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Connections.
    pub connections: u64,
    /// Bytes sent to the server.
    pub requests: u64,
    /// Bytes received from the server.
    pub replies: u64,
    /// Bytes of these that the client received.
    pub delivered: u64,
}

/// TCP proxy, which passes everything at first. Requests always get through; replies and
/// connections break.
pub struct Proxy {
    port: u16,
    link: Arc<Link>,
    accepting: Mutex<Option<JoinHandle<()>>>,
}

impl Proxy {
    /// Proxy in front of a port of loopback, whether or not anything listens there yet.
    pub fn start(server_port: u16) -> Self {
        let proxy = Self {
            port: ports::free_port(),
            link: Arc::new(Link::to(server_port)),
            accepting: Mutex::default(),
        };
        proxy.accept();
        proxy
    }

    /// Port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Address.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Repairs the network, for new connections and for those that lost nothing.
    pub fn pass(&self) {
        self.link.treat(ReplyFault::Pass);
        self.accept();
    }

    /// Drops replies: requests take effect at the server, but the client does not learn of it.
    pub fn drop_replies(&self, then: AfterDrop) {
        self.link.treat(ReplyFault::Drop(then));
    }

    /// Passes only the first byte of the next reply on each connection, and nothing after it.
    pub fn break_off(&self) {
        self.link.treat(ReplyFault::BreakOff);
    }

    /// Delays all data from the server by this time.
    pub fn delay(&self, delay: Duration) {
        self.link.treat(ReplyFault::Delay(delay));
    }

    /// Closes all connections. New ones are accepted.
    pub fn cut(&self) {
        self.link.cut();
    }

    /// Refuses new connections, as if nobody were listening. Open ones stay: [`Self::cut`] closes
    /// them.
    pub fn refuse(&self) {
        let Some(accepting) = self.accepting.lock().take() else { return };
        self.link.refusing.store(true, Ordering::SeqCst);
        // Wakes the thread, which then sees that it has to end.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        accepting.join().expect("no panic");
    }

    /// Traffic so far.
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
