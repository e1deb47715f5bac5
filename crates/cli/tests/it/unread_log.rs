//! A stderr that nobody reads: everybody is answered, and what the log lost is counted.
#![cfg(unix)]

use std::io::{BufRead, BufReader, PipeReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use slidegate_testkit::program::{HttpRequest, command, file, path};

const TOKEN: &str = "the-token-of-an-operator";
/// A server that hangs fails the test instead of holding it up.
const PATIENCE: Duration = Duration::from_secs(10);
/// More than a pipe holds.
const PIPE_BYTES: usize = 1 << 20;

/// A server whose stderr is a pipe that is full, and the end of it that could be read.
struct Unread {
    child: Child,
    http: SocketAddr,
    admin: SocketAddr,
    stderr: PipeReader,
}

impl Unread {
    fn start() -> Self {
        let rule = "{name: named, key: [user], limits: [1/h]}";
        let admin = format!("{{listen: \"127.0.0.1:0\", token: {TOKEN}}}");
        let policy = file(&format!("version: 1\nserver: {{admin: {admin}}}\nrules: [{rule}]\n"));
        let (stderr, writer) = std::io::pipe().expect("a pipe");
        fill(writer.try_clone().expect("another handle"));
        let mut command = command(&["serve", path(&policy), "--http", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(writer).spawn().expect("it starts");
        // The other end is the program's alone from now on.
        drop(command);
        let banner = BufReader::new(child.stdout.take().expect("it is piped"));
        let (mut http, mut admin) = (None, None);
        for line in banner.lines().map_while(Result::ok) {
            http = http.or_else(|| line.strip_prefix("listening on http://")?.parse().ok());
            admin = admin.or_else(|| line.strip_prefix("admin:  http://")?.parse().ok());
            if line == "Press Ctrl-C to stop." {
                break;
            }
        }
        Self { child, http: http.expect("an address"), admin: admin.expect("an address"), stderr }
    }

    /// The status of an answer that has to come.
    fn status(&self, to: SocketAddr, request: &str) -> u16 {
        let mut stream = TcpStream::connect(to).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap_or_else(|error| panic!("no answer: {error}: {request}"));
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        status.unwrap_or_else(|| panic!("no answer: {answer:?}"))
    }

    fn reload_without_token(&self) -> u16 {
        self.status(
            self.admin,
            "POST /v1/reload HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
        )
    }

    fn lives(&self, at: SocketAddr) {
        let request = "GET /livez HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n";
        assert_eq!(self.status(at, request), 200);
    }

    fn metric(&self, name: &str) -> u64 {
        let bearer = format!("authorization: Bearer {TOKEN}");
        let page = HttpRequest { headers: &[&bearer], ..HttpRequest::get("/metrics") }.send(self.admin).body;
        let value = page.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.unwrap_or_else(|| panic!("{name} is not in {page}"))
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes until the pipe takes no more; the thread goes when the pipe does.
fn fill(mut writer: std::io::PipeWriter) {
    let (began, has_begun) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        began.send(()).expect("the test waits");
        // It ends in the middle, when it is read, or with an error, when it is not.
        let _ = writer.write_all(&b"filling\n".repeat(PIPE_BYTES / 8));
    });
    has_begun.recv().expect("the thread runs");
    std::thread::sleep(Duration::from_millis(100));
}

#[test]
fn refusals_that_nobody_reads_hold_up_no_worker() {
    let server = Unread::start();
    for _ in 0..50 {
        assert_eq!(server.reload_without_token(), 401);
    }
    server.lives(server.http);
    server.lives(server.admin);
    let written = server.metric(r#"slidegate_audit_refusals_total{outcome="written"}"#);
    let left_out = server.metric(r#"slidegate_audit_refusals_total{outcome="left_out"}"#);
    assert!(written >= 10 && written + left_out == 50, "{written} written, {left_out} left out");
}

#[test]
fn lines_beyond_the_queue_are_dropped_counted_and_reported() {
    let mut server = Unread::start();
    let bearer = format!("authorization: Bearer {TOKEN}");
    let headers = ["content-type: application/json", &bearer];
    let body = format!(r#"{{"rule":"named","attributes":{{"user":"{}"}}}}"#, "x".repeat(4_000));
    let reset = HttpRequest { headers: &headers, ..HttpRequest::post("/v1/keys/reset", &body) };
    let mut dropped = 0;
    for _ in 0..1_000 {
        assert_eq!(reset.send(server.admin).status, 200);
        dropped = server.metric(r#"slidegate_log_lines_total{outcome="dropped"}"#);
        if dropped > 0 {
            break;
        }
    }
    assert!(dropped > 0, "nothing was dropped");
    server.lives(server.http);
    let stderr = server.stderr.try_clone().expect("another handle");
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let reported =
        lines.find_map(|line| line.split_once("slidegate::log: ")?.1.split_once("dropped=")?.1.parse().ok());
    assert_eq!(reported, Some(dropped));
    drop(lines);
    // A pipe that was closed is no reason to end either.
    let (closed, _) = std::io::pipe().expect("a pipe");
    server.stderr = closed;
    server.lives(server.http);
}

/// The end waits for a log that is not read, but not for long.
#[test]
fn a_log_that_nobody_reads_does_not_keep_it_from_ending() {
    let mut server = Unread::start();
    assert_eq!(server.reload_without_token(), 401);
    let signal = || std::process::Command::new("kill").arg(server.child.id().to_string()).status();
    assert!(signal().expect("kill").success());
    let ended = (0..100).find_map(|_| {
        std::thread::sleep(PATIENCE / 100);
        server.child.try_wait().expect("it can be waited for")
    });
    assert_eq!(ended.and_then(|status| status.code()), Some(0));
}
