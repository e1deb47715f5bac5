//! Clients beside the one that waits, from one address, until it is measured.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::plans::{LOOKS_PER_SECOND, Plan, Takes};
use super::protocols::Protocol;

/// Interval of their actions. They share a core with the client that waits, so that they do little
/// at a time: their own time on it is no wait caused by the server.
const TICK: Duration = Duration::from_millis(1_000 / LOOKS_PER_SECOND as u64);
/// The most connections that are opened in a tick: two thousand a second.
const AT_ONCE: usize = 20;
/// Time until nothing of them is left.
const AFTERMATH: Duration = Duration::from_millis(500);

/// Clients that go on until this is dropped.
#[derive(Debug)]
pub struct Crowd {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Crowd {
    /// Begins, and returns when all of its connections were tried once.
    pub fn begin(server: SocketAddr, protocol: Protocol, plan: Plan) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let mut clients = Clients { server, protocol, plan, connections: VecDeque::new(), due: 0 };
        for _ in 0..clients.plan.connections.div_ceil(AT_ONCE) {
            clients.open();
        }
        let is_over = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            stand_back();
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
                clients.look();
                clients.open();
            }
        });
        Self { over, thread: Some(thread) }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a crowd does not fail");
            // The server has to see that they are gone, which is a part of it.
            std::thread::sleep(AFTERMATH);
        }
    }
}

struct Clients {
    server: SocketAddr,
    protocol: Protocol,
    plan: Plan,
    connections: VecDeque<Connection>,
    /// Looks that are due, in parts of [`LOOKS_PER_SECOND`].
    due: usize,
}

struct Connection {
    stream: TcpStream,
    sent_requests: u32,
    /// Bytes that the system has not accepted yet.
    unsent: Vec<u8>,
    is_answered: bool,
}

impl Clients {
    /// Opens those that are missing, up to so many at once. What is refused is tried again.
    fn open(&mut self) {
        let missing = self.plan.connections - self.connections.len();
        for _ in 0..missing.min(AT_ONCE) {
            let Ok(mut stream) = TcpStream::connect(self.server) else { continue };
            if stream.set_nonblocking(true).is_ok() && stream.write_all(&self.plan.first).is_ok() {
                flood(&mut stream, self.plan.flood_bytes);
                let connection =
                    Connection { stream, sent_requests: 0, unsent: Vec::new(), is_answered: true };
                self.connections.push_back(connection);
            }
        }
    }

    /// Looks at those whose time it is: lets go of those that were ended, and sends what comes
    /// next.
    fn look(&mut self) {
        self.due += self.connections.len() * self.plan.looks as usize;
        let share = self.due / LOOKS_PER_SECOND as usize;
        self.due %= LOOKS_PER_SECOND as usize;
        for _ in 0..share {
            let Some(mut connection) = self.connections.pop_front() else { return };
            if connection.step(&self.plan, &self.protocol).is_some() {
                self.connections.push_back(connection);
            }
        }
    }
}

impl Connection {
    /// One action; `None` if the connection has ended.
    fn step(&mut self, plan: &Plan, protocol: &Protocol) -> Option<()> {
        if plan.takes != Takes::Nothing {
            self.take()?;
        }
        if self.unsent.is_empty() && (self.is_answered || plan.takes != Takes::OneByOne) {
            self.unsent = (plan.then)(protocol, self.sent_requests);
            self.sent_requests += plan.requests;
            self.is_answered = self.unsent.is_empty();
        }
        self.send()
    }

    fn take(&mut self) -> Option<()> {
        loop {
            match self.stream.read(&mut [0; 1 << 16]) {
                Ok(0) => return None,
                Ok(_) => self.is_answered = true,
                Err(error) => return (error.kind() == ErrorKind::WouldBlock).then_some(()),
            }
        }
    }

    fn send(&mut self) -> Option<()> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(bytes) => drop(self.unsent.drain(..bytes)),
                Err(error) => return (error.kind() == ErrorKind::WouldBlock).then_some(()),
            }
        }
        Some(())
    }
}

/// Lets the one who waits go first on the core that both are on.
fn stand_back() {
    let this = rustix::thread::gettid().as_raw_nonzero().to_string();
    // Where the whole measurement has the priority of real time, they have not.
    let ordinary = Command::new("chrt").args(["--other", "--pid", "0", &this]).status();
    if !ordinary.is_ok_and(|status| status.success()) || rustix::process::nice(19).is_err() {
        eprintln!("others are in the way of the client: figures will be noisy");
    }
}

/// Sends until nothing more is taken.
fn flood(stream: &mut TcpStream, bytes: usize) {
    let part = [b' '; 1 << 16];
    let mut sent = 0;
    while sent < bytes {
        match stream.write(&part) {
            Ok(written) => sent += written,
            Err(_) => return,
        }
    }
}
