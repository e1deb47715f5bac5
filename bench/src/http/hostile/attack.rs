//! What is done to a server, from one address, until it is measured.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often attackers do something. They share a core with the one who waits, so they do little at a time: what they take of it is
/// not what the server makes others wait for.
const TICK: Duration = Duration::from_millis(10);
/// The most connections that are opened in a tick: two thousand a second.
const AT_ONCE: usize = 20;
/// How long it takes until nothing of an attack is left.
const AFTERMATH: Duration = Duration::from_millis(500);
/// Ticks until it was looked at every connection once.
const ROUND: usize = 100;

/// What an attacker does with its connections.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    connections: usize,
    /// What is sent at first.
    first: &'static [u8],
    /// What is sent every second.
    then: &'static [u8],
    /// How much more is sent as fast as it is taken, at first.
    flood_bytes: usize,
}

const HALF: &[u8] = b"POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-le";
const LARGE: &[u8] = b"POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 100000000\r\n\r\n";

/// All that is measured.
pub const ATTACKS: [(&str, Plan); 4] = [
    ("half-open", Plan { connections: 1_000, first: HALF, then: b"", flood_bytes: 0 }),
    ("trickle", Plan { connections: 100, first: b"P", then: b"O", flood_bytes: 0 }),
    ("bodies", Plan { connections: 2, first: LARGE, then: b"", flood_bytes: 100_000_000 }),
    ("crowd", Plan { connections: 10_000, first: b"", then: b"", flood_bytes: 0 }),
];

/// An attack that goes on until it is dropped.
#[derive(Debug)]
pub struct Attack {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Attack {
    /// Begins, and returns when all of its connections were tried once.
    pub fn begin(server: SocketAddr, plan: Plan) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let mut attackers = Attackers { server, plan, streams: VecDeque::new() };
        for _ in 0..plan.connections.div_ceil(AT_ONCE) {
            attackers.open();
        }
        let is_over = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            stand_back();
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
                attackers.look();
                attackers.open();
            }
        });
        Self { over, thread: Some(thread) }
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("an attacker does not fail");
            // The server has to see that they are gone, which is a part of the attack.
            std::thread::sleep(AFTERMATH);
        }
    }
}

struct Attackers {
    server: SocketAddr,
    plan: Plan,
    streams: VecDeque<TcpStream>,
}

impl Attackers {
    /// Opens those that are missing, up to so many at once. What is refused is tried again.
    fn open(&mut self) {
        let missing = self.plan.connections - self.streams.len();
        for _ in 0..missing.min(AT_ONCE) {
            let Ok(mut stream) = TcpStream::connect(self.server) else { continue };
            if stream.set_nonblocking(true).is_ok() && stream.write_all(self.plan.first).is_ok() {
                flood(&mut stream, self.plan.flood_bytes);
                self.streams.push_back(stream);
            }
        }
    }

    /// Looks at a hundredth of the connections: lets go of those that were ended, and sends what comes every second.
    fn look(&mut self) {
        for _ in 0..self.streams.len().div_ceil(ROUND) {
            let Some(mut stream) = self.streams.pop_front() else { return };
            let is_open = match stream.read(&mut [0; 1_024]) {
                Ok(read) => read > 0,
                Err(error) => error.kind() == ErrorKind::WouldBlock,
            };
            if is_open && stream.write_all(self.plan.then).is_ok() {
                self.streams.push_back(stream);
            }
        }
    }
}

/// Lets the one who waits go first on the core that both are on.
fn stand_back() {
    let this = rustix::thread::gettid().as_raw_nonzero().to_string();
    // Where the whole measurement has the priority of real time, attackers have not.
    let ordinary = Command::new("chrt").args(["--other", "--pid", "0", &this]).status();
    if !ordinary.is_ok_and(|status| status.success()) || rustix::process::nice(19).is_err() {
        eprintln!("attackers are in the way of the client: figures will be noisy");
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
