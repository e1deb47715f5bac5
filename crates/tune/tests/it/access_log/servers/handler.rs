//! HTTP handler that takes a known time.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::now_ms;

/// Time that every request takes.
pub(super) const HANDLED_MS: u64 = 300;

/// Listens until the test ends.
#[derive(Debug)]
pub(super) struct Handler {
    port: u16,
    /// When the requests for a target arrived.
    arrivals: Arrivals,
}

type Arrivals = Arc<Mutex<HashMap<String, u64>>>;

impl Handler {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let handler = Self { port, arrivals: Arc::default() };
        let arrivals = handler.arrivals.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let arrivals = arrivals.clone();
                std::thread::spawn(move || serve(&stream, &arrivals));
            }
        });
        handler
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// When the request for a target arrived. Quotes may have been escaped on the way.
    pub(super) fn arrived_ms(&self, target: &str) -> u64 {
        let path = target.split('?').next().expect("a path");
        self.arrivals.lock().expect("no panic")[path]
    }
}

/// Answers all requests of a connection, each after its time.
fn serve(mut stream: &TcpStream, arrivals: &Mutex<HashMap<String, u64>>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    while let Some(first) = lines.next() {
        let arrived_ms = now_ms();
        let path = first.split([' ', '?']).nth(1).unwrap_or_default().to_owned();
        // To the empty line at the end of the head; no request has a body.
        lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
        if path != "/ready" {
            arrivals.lock().expect("no panic").insert(path, arrived_ms);
            std::thread::sleep(Duration::from_millis(HANDLED_MS));
        }
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
            return;
        }
    }
}
