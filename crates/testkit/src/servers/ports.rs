//! Ports for servers.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::TcpListener;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// First port. Port 0 would give one from the range of outgoing connections, which could take the
/// port of a server while it is down, or even connect to itself. A node of a cluster needs a second
/// port, [`BUS`] above.
const FIRST: u16 = 12_000;
const COUNT: u16 = 10_000;
const BUS: u16 = 10_000;

/// Next port. Each process starts at another one, and goes through all of them.
static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(RandomState::new().hash_one(0) >> 32));

/// Free port with a free bus port, which this process gets only once.
pub fn free_port() -> u16 {
    let candidates = (0..COUNT).map(|_| {
        let next = NEXT.fetch_add(1, Ordering::Relaxed) % u64::from(COUNT);
        FIRST + u16::try_from(next).expect("less than the count")
    });
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    candidates.into_iter().find(|port| is_free(*port) && is_free(port + BUS)).expect("a free port")
}
