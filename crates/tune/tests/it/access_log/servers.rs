//! Logs of real servers in front of a handler that takes a known time: starts, ends and durations are those that
//! the client and the handler measured.

mod handler;
mod web_server;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use slidegate_tune::access_log::{AccessLogFormat, CombinedServer, ReadOptions};

use super::{Visited, file, needed, read};
use handler::{HANDLED_MS, Handler};
use web_server::{RunningServer, WebServer};

/// Rounds of requests, and requests at the same time in each.
const ROUNDS: usize = 3;
const AT_ONCE: usize = 4;

/// Time that a server may take between its log and the wire, beyond what the client measured.
const TOLERANCE_MS: u64 = 20;

const LOGGED_WITHIN: Duration = Duration::from_secs(30);

/// Times of a request as the client and the handler measured them.
#[derive(Debug)]
struct Measured {
    target: String,
    /// Before the request was sent, and when the handler had it.
    start_ms: (u64, u64),
    /// After the handler was done, and when the client had the response.
    end_ms: (u64, u64),
}

/// What of a request has to be in the log, and how exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Truth {
    /// Start to 20 milliseconds, and duration.
    Start,
    /// Start to a second.
    StartSecond,
    /// End to a second.
    EndSecond,
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_millis() as u64
}

/// Sends a request on a connection of its own, and waits for the end of the response.
fn send(server: SocketAddr, target: &str) -> std::io::Result<(u64, u64)> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(LOGGED_WITHIN))?;
    let start_ms = now_ms();
    let head = "Host: example.org\r\nUser-Agent: the \"agent\"\r\nX-Api-Key: k1\r\nConnection: close\r\n\r\n";
    stream.write_all(format!("GET {target} HTTP/1.1\r\n{head}").as_bytes())?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response)?;
    if response.starts_with(b"HTTP/1.1 200") {
        Ok((start_ms, now_ms()))
    } else {
        Err(std::io::Error::other(String::from_utf8_lossy(&response).into_owned()))
    }
}

fn measure(server: &RunningServer, handler: &Handler) -> Vec<Measured> {
    let measure = |number: usize| {
        let target = format!("/{number}?q=\"x\"");
        let (sent_ms, received_ms) = send(server.address(), &target).expect("a response");
        let arrived_ms = handler.arrived_ms(&target);
        Measured { target, start_ms: (sent_ms, arrived_ms), end_ms: (arrived_ms + HANDLED_MS, received_ms) }
    };
    let round = |round: usize| {
        std::thread::scope(|scope| {
            let numbers = round * AT_ONCE..(round + 1) * AT_ONCE;
            let requests: Vec<_> = numbers.map(|number| scope.spawn(move || measure(number))).collect();
            requests.into_iter().map(|request| request.join().expect("a response")).collect::<Vec<_>>()
        })
    };
    (0..ROUNDS).flat_map(round).collect()
}

/// Requests of a log with those targets, once all are there.
fn logged(log: &Path, options: &ReadOptions, measured: &[Measured]) -> Vec<Visited> {
    let deadline = Instant::now() + LOGGED_WITHIN;
    let path = |visit: &Visited| {
        visit.attributes.iter().find(|(name, _)| name == "path").map(|(_, path)| path.clone())
    };
    let is_measured = |visit: &Visited| {
        let path = path(visit).unwrap_or_default();
        measured.iter().any(|request| request.target.split('?').next() == Some(&path))
    };
    loop {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        if text.matches("?q=").count() >= measured.len() && text.ends_with('\n') {
            let (mut visited, _) = read(options);
            visited.retain(is_measured);
            visited.sort_by_key(path);
            return visited;
        }
        assert!(Instant::now() < deadline, "not all requests are in the log:\n{text}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_within(logged: u64, (first, last): (u64, u64), tolerance_ms: u64) -> bool {
    (first - tolerance_ms..=last + tolerance_ms).contains(&logged)
}

/// Runs a server, and compares its logs with what was measured.
fn compare(server: WebServer, logs: &[(&str, AccessLogFormat, Truth)]) {
    let handler = Handler::start();
    let running = server.start(handler.port());
    let mut measured = measure(&running, &handler);
    measured.sort_by(|one, other| one.target.split('?').next().cmp(&other.target.split('?').next()));
    for (name, format, truth) in logs {
        let log = running.folder().join(name);
        let options = ReadOptions {
            inputs: vec![file(&log)],
            needed: needed(&["method", "path", "ip"]),
            combined_server: (*format == AccessLogFormat::ApacheCombined).then_some(CombinedServer::Apache),
            ..ReadOptions::default()
        };
        let visited = logged(&log, &options, &measured);
        let (_, report) = read(&options);
        let facts = report.files[0].facts.as_ref().expect("a format");
        assert_eq!(facts.format, *format);
        assert_eq!(facts.has_start(), *truth != Truth::EndSecond);
        assert_eq!(visited.len(), measured.len(), "{visited:?}");
        let mut most_ms = 0;
        for (visit, request) in visited.iter().zip(&measured) {
            let path = request.target.split('?').next().expect("a path");
            // Envoy takes an address of its own machine for a client on it.
            let ip = if *format == AccessLogFormat::Envoy { &visit.attributes[2].1 } else { "127.0.0.1" };
            let expected = [("method", "GET"), ("path", path), ("ip", ip)];
            assert_eq!(visit.attributes, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
            assert_eq!(visit.status, Some(200));
            let (holds, true_ms) = match truth {
                Truth::Start => {
                    (is_within(visit.start_ms, request.start_ms, TOLERANCE_MS), request.start_ms.0)
                }
                Truth::StartSecond => (is_within(visit.start_ms, request.start_ms, 1000), request.start_ms.0),
                Truth::EndSecond => (is_within(visit.start_ms, request.end_ms, 1000), request.end_ms.1),
            };
            assert!(holds, "{format}: {visit:?} is not {truth:?} of {request:?}");
            most_ms = most_ms.max(visit.start_ms.abs_diff(true_ms));
            if let Some(duration_ms) = visit.duration_ms {
                let longest_ms = request.end_ms.1 - request.start_ms.0;
                let bounds = (HANDLED_MS, longest_ms);
                assert!(
                    is_within(duration_ms, bounds, TOLERANCE_MS),
                    "{format}: {duration_ms} ms, {bounds:?}"
                );
            }
            assert_eq!(visit.duration_ms.is_some(), facts.has_duration);
        }
        println!("{format}: at most {most_ms} ms from the truth ({truth:?})");
    }
}

#[test]
fn nginx() {
    let logs = [
        ("combined.log", AccessLogFormat::NginxCombined, Truth::EndSecond),
        ("timed.log", AccessLogFormat::NginxTimed, Truth::Start),
    ];
    compare(WebServer::Nginx, &logs);
}

#[test]
fn apache() {
    let logs = [
        ("combined.log", AccessLogFormat::ApacheCombined, Truth::StartSecond),
        ("timed.log", AccessLogFormat::ApacheTimed, Truth::Start),
    ];
    compare(WebServer::Apache, &logs);
}

#[test]
fn haproxy() {
    compare(WebServer::Haproxy, &[("output", AccessLogFormat::Haproxy, Truth::Start)]);
}

#[test]
fn envoy() {
    compare(WebServer::Envoy, &[("access.log", AccessLogFormat::Envoy, Truth::Start)]);
}

#[test]
fn traefik_common() {
    compare(WebServer::TraefikCommon, &[("access.log", AccessLogFormat::TraefikCommon, Truth::StartSecond)]);
}

#[test]
fn traefik_json() {
    compare(WebServer::TraefikJson, &[("access.log", AccessLogFormat::TraefikJson, Truth::Start)]);
}

#[test]
fn caddy() {
    compare(WebServer::Caddy, &[("access.log", AccessLogFormat::CaddyJson, Truth::Start)]);
}
