//! Viewers of a service during a measurement: one console, and a scrape each second.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// End when dropped.
#[derive(Debug)]
pub struct Watchers {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Watchers {
    /// Viewers of the service whose admin listener has this address.
    pub fn of(admin: SocketAddr) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let threads = [view, scrape].map(|watch| {
            let ended = Arc::clone(&ended);
            std::thread::spawn(move || watch(admin, &ended))
        });
        Self { ended, threads: threads.into() }
    }
}

impl Drop for Watchers {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let looked = thread.join();
            assert!(looked.is_ok() || std::thread::panicking(), "nobody looked at the service");
        }
    }
}

fn connect(admin: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(admin).expect("the admin listener is there");
    stream.set_read_timeout(Some(SECOND / 5)).expect("a time that is not 0");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {admin}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the listener reads");
    stream
}

/// Reads what there is, and looks at how the answer begins.
fn read(stream: &mut TcpStream, ended: &AtomicBool, until: impl Fn(usize) -> bool) {
    let (mut bytes, mut first) = ([0; 65_536], true);
    let mut total = 0;
    while !ended.load(Ordering::Relaxed) && !until(total) {
        let Ok(count) = stream.read(&mut bytes) else { continue };
        assert!(count > 0, "the service ended the connection");
        assert!(!first || bytes.starts_with(b"HTTP/1.1 200 "), "{}", bytes[..count].escape_ascii());
        first = false;
        total += count;
    }
}

fn view(admin: SocketAddr, ended: &AtomicBool) {
    read(&mut connect(admin, "/v1/events"), ended, |_| false);
}

fn scrape(admin: SocketAddr, ended: &AtomicBool) {
    while !ended.load(Ordering::Relaxed) {
        read(&mut connect(admin, "/metrics"), ended, |bytes| bytes > 0);
        std::thread::sleep(SECOND);
    }
}
