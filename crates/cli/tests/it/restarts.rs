//! Restarts under load: whatever a server has counted, somebody was told.
#![cfg(unix)]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use slidegate_testkit::program::{ServerProcess, command, file, path};
use slidegate_testkit::servers::free_port;

const RESTARTS: usize = 100;
const PER_SECOND: u32 = 1_000;
const PERSISTENT: u32 = 12;
const FRESH: u32 = 4;
/// Answers between two restarts, at least.
const PER_RUN: u64 = 200;
const QUOTA: u64 = 1_000_000_000;
/// Long enough to be no part of what is tested.
const PATIENCE: Duration = Duration::from_secs(30);

/// What came of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    /// Allowed; whether the connection goes on.
    Allowed { keeps: bool },
    /// The connection ended before a byte of an answer: the server may not have counted it.
    Unheard,
}

/// One of those who ask.
struct Client {
    server: SocketAddr,
    request: Vec<u8>,
    keeps: bool,
    stream: Option<TcpStream>,
}

/// Results of all clients.
#[derive(Default)]
struct Totals {
    over: AtomicBool,
    allowed: AtomicU64,
    refused: AtomicU64,
    unheard: AtomicU64,
}

fn body(user: u32, cost: u32) -> String {
    format!(r#"{{"attributes":{{"user":"{user}"}},"cost":{cost}}}"#)
}

impl Client {
    fn new(server: SocketAddr, user: u32) -> Self {
        let body = body(user, 1);
        let head = format!("POST /v1/check HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n\r\n", body.len());
        Self {
            server,
            request: [head.as_bytes(), body.as_bytes()].concat(),
            keeps: user < PERSISTENT,
            stream: None,
        }
    }

    /// At its own pace, whatever comes of it; how many were allowed.
    fn ask_until_over(mut self, totals: &Totals) -> u64 {
        let pace = Duration::from_secs(1) * (PERSISTENT + FRESH) / PER_SECOND;
        let (began, mut requests, mut allowed) = (Instant::now(), 0, 0);
        while !totals.over.load(Ordering::Relaxed) {
            std::thread::sleep((began + pace * requests).saturating_duration_since(Instant::now()));
            requests += 1;
            let Some(mut stream) = self.stream.take().or_else(|| self.connect()) else {
                totals.refused.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            match exchange(&mut stream, &self.request) {
                Outcome::Allowed { keeps } => {
                    allowed += 1;
                    totals.allowed.fetch_add(1, Ordering::Relaxed);
                    self.stream = (keeps && self.keeps).then_some(stream);
                }
                Outcome::Unheard => drop(totals.unheard.fetch_add(1, Ordering::Relaxed)),
            }
        }
        allowed
    }

    fn connect(&self) -> Option<TcpStream> {
        let stream = TcpStream::connect(self.server).ok()?;
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        Some(stream)
    }
}

/// One request and its answer. Half an answer, or another one than 200, fails the test.
fn exchange(stream: &mut TcpStream, request: &[u8]) -> Outcome {
    // What was refused while it was written may have been answered before.
    let _ended = stream.write_all(request);
    let (mut answer, mut buffer) = (Vec::new(), [0; 4_096]);
    loop {
        let read = match stream.read(&mut buffer) {
            Ok(read) => read,
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => 0,
            Err(error) => panic!("no answer: {error}"),
        };
        answer.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&answer);
        if let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|length| length.parse().ok()).expect("a length");
            if rest.len() >= length {
                assert!(head.starts_with("HTTP/1.1 200 "), "{text}");
                return Outcome::Allowed { keeps: !head.contains("connection: close") };
            }
        }
        if read == 0 {
            assert!(answer.is_empty(), "a part of an answer: {text}");
            return Outcome::Unheard;
        }
    }
}

/// A server on this port, once it listens.
fn start(policy: &str, port: u16) -> ServerProcess {
    ServerProcess::spawn(&mut command(&[
        "serve",
        policy,
        "--http",
        &format!("127.0.0.1:{port}"),
        "--log",
        "error",
    ]))
}

#[test]
fn nothing_that_was_counted_loses_its_answer_and_a_quota_survives() {
    let _turn = crate::load_turn();
    let directory = tempfile::tempdir().expect("a directory");
    let snapshot = directory.path().join("state.snapshot");
    let policy = file(&format!(
        "version: 1\nstore: {{snapshot: {}}}\nrules:\n  - {{name: monthly, key: [user], limits: [{{quota: {QUOTA}, \
         window: 30d, algorithm: counter}}]}}\n",
        snapshot.display()
    ));
    let port = free_port();
    let mut server = start(path(&policy), port);
    let (totals, began) = (Arc::new(Totals::default()), Instant::now());
    let clients: Vec<_> = (0..PERSISTENT + FRESH)
        .map(|user| {
            let (client, totals) = (Client::new(server.address(), user), Arc::clone(&totals));
            std::thread::spawn(move || client.ask_until_over(&totals))
        })
        .collect();
    for _ in 0..RESTARTS {
        let enough = totals.allowed.load(Ordering::Relaxed) + PER_RUN;
        let deadline = Instant::now() + PATIENCE;
        while totals.allowed.load(Ordering::Relaxed) < enough {
            assert!(Instant::now() < deadline, "nobody is answered any more");
            std::thread::sleep(Duration::from_millis(1));
        }
        let (code, log) = server.terminate();
        assert_eq!(code, Some(0), "{log}");
        server = start(path(&policy), port);
    }
    totals.over.store(true, Ordering::Relaxed);
    let allowed: Vec<u64> =
        clients.into_iter().map(|client| client.join().expect("it was answered")).collect();
    let took = began.elapsed();
    for (user, allowed) in (0..).zip(&allowed) {
        let remaining = server.check(&body(user, 0)).json()["remaining"].as_u64().expect("a number");
        assert_eq!(QUOTA - remaining, *allowed, "user {user}: counted, and told");
    }
    // Unheard are requests that came to a connection or a listener which had just ended: nothing of
    // them was read.
    println!(
        "{RESTARTS} restarts in {took:.1?}: {} answered, {} found nobody, {} unheard",
        allowed.iter().sum::<u64>(),
        totals.refused.load(Ordering::Relaxed),
        totals.unheard.load(Ordering::Relaxed)
    );
}

/// The first asks it to end, and somebody is held for longer than anybody wants to wait.
#[test]
fn a_second_signal_ends_it_at_once() {
    let policy = file(
        "version: 1\nserver: {shutdown_timeout: 60s}\nrules:\n  - {name: api, key: [user], limits: [1/h]}\n",
    );
    let mut server = ServerProcess::start(&[path(&policy), "--log", "error"]);
    let mut begun = TcpStream::connect(server.address()).expect("it listens");
    begun.write_all(b"POST /v1/check HTTP/1.1\r\ncontent-le").expect("it reads");
    assert_eq!(server.check(&body(1, 1)).status, 200);
    server.signal("TERM");
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(server.address()).is_ok() {
        assert!(Instant::now() < deadline, "it still listens");
        std::thread::sleep(Duration::from_millis(5));
    }
    server.signal("TERM");
    assert_eq!(server.ended(), Some(130));
}
