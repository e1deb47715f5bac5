//! The API that is protected: repeats what it was asked, and remembers it.

use std::io::{BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use slidegate_testkit::program::HttpMessage;

/// A request that arrived.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamRequest {
    pub(crate) method: String,
    pub(crate) target: String,
    message: HttpMessage,
}

/// Listens until the test ends.
#[derive(Debug)]
pub(crate) struct Upstream {
    port: u16,
    requests: Arc<Mutex<Vec<UpstreamRequest>>>,
}

impl Upstream {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("some port is free");
        let port = listener.local_addr().expect("a listener has an address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let upstream = Self { port, requests: requests.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let requests = requests.clone();
                std::thread::spawn(move || serve(&stream, &requests));
            }
        });
        upstream
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// How many requests have arrived.
    pub(crate) fn count(&self) -> usize {
        self.requests.lock().expect("no test panics with it").len()
    }

    /// The last request that arrived.
    pub(crate) fn last(&self) -> UpstreamRequest {
        self.requests.lock().expect("no test panics with it").last().expect("a request has arrived").clone()
    }
}

impl UpstreamRequest {
    fn new(message: HttpMessage) -> Option<Self> {
        let mut words = message.first_line.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        Some(Self { method, target, message })
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.message.body
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.message.header(name)
    }

    /// How many times a header was sent.
    pub(crate) fn values(&self, name: &str) -> usize {
        self.message.headers.iter().filter(|(other, _)| other == name).count()
    }

    /// `/status/403` answers 403; all else is 200.
    fn status(&self) -> &str {
        self.target.strip_prefix("/status/").unwrap_or("200")
    }
}

/// Answers all requests of a connection.
fn serve(mut stream: &TcpStream, requests: &Mutex<Vec<UpstreamRequest>>) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = HttpMessage::read(&mut reader).ok().flatten().and_then(UpstreamRequest::new) {
        let line = format!("{} {}\n", request.method, request.target);
        let length = line.len() + request.body().len();
        let head = format!("HTTP/1.1 {} Answer\r\nContent-Length: {length}\r\n\r\n", request.status());
        let answer = [head.as_bytes(), line.as_bytes(), request.body()].concat();
        // It counts as received before the gateway can tell anybody.
        requests.lock().expect("no test panics with it").push(request);
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}
