//! The API that is protected: repeats what it was asked, and remembers it.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request that arrived. Names of headers are in small letters.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamRequest {
    pub(crate) method: String,
    pub(crate) target: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
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
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// How many times a header was sent.
    pub(crate) fn values(&self, name: &str) -> usize {
        self.headers.iter().filter(|(found, _)| found == name).count()
    }

    /// The next request of a connection; none when it has ended.
    fn read(from: &mut impl BufRead) -> Option<Self> {
        let line = read_line(from)?;
        let mut words = line.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = Vec::new();
        loop {
            let line = read_line(from)?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut requests = Self { method, target, headers, body: Vec::new() };
        requests.body = match (requests.header("transfer-encoding"), requests.header("content-length")) {
            (Some(_), _) => read_chunks(from)?,
            (None, Some(length)) => read_bytes(from, length.parse().expect("a length"))?,
            (None, None) => Vec::new(),
        };
        Some(requests)
    }

    /// `/status/403` answers 403; all else is 200.
    fn status(&self) -> &str {
        self.target.strip_prefix("/status/").unwrap_or("200")
    }
}

/// Answers all requests of a connection.
fn serve(mut stream: &TcpStream, requests: &Mutex<Vec<UpstreamRequest>>) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = UpstreamRequest::read(&mut reader) {
        let line = format!("{} {}\n", request.method, request.target);
        let length = line.len() + request.body.len();
        let head = format!("HTTP/1.1 {} Answer\r\nContent-Length: {length}\r\n\r\n", request.status());
        let answer = [head.as_bytes(), line.as_bytes(), &request.body].concat();
        // It counts as requests before the gateway can tell anybody.
        requests.lock().expect("no test panics with it").push(request);
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

/// A line without its end; none at the end of the connection. What is no text in it is not looked
/// at.
fn read_line(from: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let length = from.read_until(b'\n', &mut line).ok()?;
    (length > 0).then(|| String::from_utf8_lossy(line.trim_ascii_end()).into_owned())
}

fn read_bytes(from: &mut impl BufRead, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn read_chunks(from: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let length = usize::from_str_radix(&read_line(from)?, 16).expect("a chunk has a length");
        body.extend(read_bytes(from, length)?);
        read_line(from)?;
        if length == 0 {
            return Some(body);
        }
    }
}
