//! OpenTelemetry of the real program: what it is told by variables, and what it says when nobody
//! takes it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;

use slidegate_testkit::program::{ServerProcess, command, file, path};

const CHECK: &str = r#"{"attributes":{"user":"alice"}}"#;

fn policy(collector: SocketAddr) -> tempfile::NamedTempFile {
    file(&format!(
        "version: 1\nobserve: {{ otlp: {{ endpoint: 'http://{collector}', traces: 100%, metrics_every: 1h }} }}\n\
         rules: [{{ name: api, key: [user], limits: [10/min] }}]\n"
    ))
}

/// Takes so many messages, and tells them as they came.
fn collector(messages: usize) -> (SocketAddr, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let takes = move || (0..messages).map(|_| take(listener.accept().expect("a connection").0)).collect();
    (address, std::thread::spawn(takes))
}

fn take(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let mut more = [0; 4096];
        let read = stream.read(&mut more).expect("a message");
        bytes.extend_from_slice(&more[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|length| length.parse().ok()).expect("a length");
        if bytes.len() == head.len() + 4 + length {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("it listens");
            return text.into_owned();
        }
    }
}

#[test]
fn it_is_who_the_variables_say_and_sends_the_rest_at_the_end() {
    let (address, received) = collector(2);
    let policy = policy(address);
    let mut command = command(&["serve", path(&policy), "--http", "127.0.0.1:0"]);
    let command =
        command.env("OTEL_SERVICE_NAME", "front-door").env("OTEL_RESOURCE_ATTRIBUTES", "region=north");
    let server = ServerProcess::spawn(command.env("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=seven"));
    assert_eq!(server.check(CHECK).status, 200);
    let (code, log) = server.terminate();
    assert_eq!(code, Some(0), "{log}");
    let mut messages = received.join().expect("messages");
    messages.sort();
    let [metrics, traces] = &*messages else { panic!("{messages:?}") };
    assert!(
        metrics.starts_with("POST /v1/metrics ") && traces.starts_with("POST /v1/traces "),
        "{messages:?}"
    );
    for message in [metrics, traces] {
        for expected in ["x-tenant: seven\r\n", "service.name", "front-door", "region", "north"] {
            assert!(message.contains(expected), "no {expected} in {message}");
        }
    }
}

#[test]
fn an_unreachable_collector_is_reported_once() {
    let address = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let policy = policy(address);
    let server = ServerProcess::start(&[path(&policy)]);
    for _ in 0..3 {
        assert_eq!(server.check(CHECK).status, 200);
    }
    // At the end both spans and numbers are tried.
    let (code, log) = server.terminate();
    assert_eq!(code, Some(0), "{log}");
    let warnings: Vec<_> = log.lines().filter(|line| line.contains("telemetry")).collect();
    assert_eq!(warnings.len(), 1, "{log}");
    assert!(warnings[0].contains(&format!("export to http://{address} failed: cannot connect")), "{log}");
}

#[test]
fn an_invalid_variable_is_reported_at_the_start() {
    let policy = policy(SocketAddr::from(([127, 0, 0, 1], 4318)));
    let mut command = command(&["serve", path(&policy), "--http", "127.0.0.1:0"]);
    let ended = command.env("OTEL_EXPORTER_OTLP_TIMEOUT", "soon").output().expect("it ends");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("observe.otlp: OTEL_EXPORTER_OTLP_TIMEOUT"), "{stderr}");
}
