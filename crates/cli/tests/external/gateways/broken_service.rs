//! A service whose answers cannot be read.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// Listens until the test ends. Answers 200 to `/ready`, and anything else in its own way.
#[derive(Debug)]
pub(crate) struct BrokenService {
    port: u16,
}

impl BrokenService {
    pub(crate) fn start(answer: Vec<u8>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("some port is free");
        let port = listener.local_addr().expect("a listener has an address").port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = answer.clone();
                std::thread::spawn(move || serve(&stream, &answer));
            }
        });
        Self { port }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

/// Answers one request, and hangs up.
fn serve(mut stream: &TcpStream, answer: &[u8]) {
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let is_ready = head.iter().any(|line| line.eq_ignore_ascii_case("x-forwarded-uri: /ready"));
    let ready = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".as_slice();
    // The gateway may have hung up before.
    let _ = stream.write_all(if is_ready { ready } else { answer });
}
