//! Few file descriptors: connections take what there is and no more, and what else needs one has
//! it.
#![cfg(unix)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use slidegate_testkit::program::{HttpRequest, ServerProcess, command, file, path};

/// Descriptors of the program.
const FILES: u64 = 200;
const PATIENCE: Duration = Duration::from_secs(20);

/// `slidegate serve` with few descriptors.
fn start(policy: &str) -> ServerProcess {
    let plain = command(&["serve", policy, "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -n {FILES} && exec \"$0\" \"$@\"")]);
    limited.arg(plain.get_program()).args(plain.get_args()).env_clear();
    ServerProcess::spawn(&mut limited)
}

/// Connections on which a request has begun, so that none of them is idle.
fn occupy(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let connections = (0..count).map(|_| {
        let mut stream = TcpStream::connect(address).expect("the system takes it");
        // It may be one too many, and closed already.
        let _ = stream.write_all(b"POST /v1/check HTTP/1.1\r\nhost: a\r\n");
        stream
    });
    connections.collect()
}

/// Whether it answers. One more than it can even turn away is closed, until others have left.
fn lives(address: SocketAddr) -> bool {
    let mut stream = TcpStream::connect(address).expect("the system takes it");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let request = b"GET /livez HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n";
    let mut answer = String::new();
    stream.write_all(request).and_then(|()| stream.read_to_string(&mut answer)).is_ok()
        && answer.starts_with("HTTP/1.1 200 ")
}

fn status(server: &ServerProcess) -> serde_json::Value {
    HttpRequest::get("/v1/status").send(server.admin()).json()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn connections_leave_descriptors_to_everything_else() {
    let folder = tempfile::TempDir::new().expect("a directory");
    let snapshot = folder.path().join("state");
    let policy = file(&format!(
        "version: 1
server: {{ connections: {{ max: 10000, max_per_address: 10000, head_timeout: 1m }}, shutdown_timeout: 500ms }}
store: {{ snapshot: {snapshot:?}, snapshot_interval: 100ms }}
rules: [{{ name: api, limits: [1000/h] }}]
"
    ));
    let server = start(path(&policy));
    let max = status(&server)["connections"]["max"].as_u64().expect("a number");
    assert!((20..FILES / 2).contains(&max), "{max} on each of two listeners");
    let _flood = [occupy(server.address(), 300), occupy(server.admin(), 300)];
    for address in [server.address(), server.admin()] {
        until("it answers", || lives(address));
    }
    server.signal("HUP");
    let _more = occupy(server.address(), 100);
    until("it answers", || lives(server.address()));
    let (code, log) = server.terminate();
    assert_eq!(code, Some(0), "{log}");
    assert!(std::fs::metadata(&snapshot).is_ok_and(|file| file.len() > 0), "no snapshot: {log}");
    assert!(!log.contains("no connection can be accepted"), "{log}");
    assert!(!log.contains("ERROR"), "{log}");
    let warnings: Vec<_> = log.lines().filter(|line| line.contains("server.connections.max")).collect();
    let [at_start, ..] = &warnings[..] else { panic!("no warning: {log}") };
    for part in [" 10000", " 200 ", &format!(" {max} ")] {
        assert!(at_start.contains(part), "{part:?} is not in {at_start}");
    }
}

/// Nobody asked for the usual number: it is derived without a warning.
#[test]
fn the_usual_number_is_derived() {
    let policy = file("version: 1\nrules: [{ name: api, limits: [1000/h] }]\n");
    let server = start(path(&policy));
    let max = status(&server)["connections"]["max"].as_u64().expect("a number");
    assert!((20..FILES / 2).contains(&max), "{max} on each of two listeners");
    let (code, log) = server.terminate();
    assert!(code == Some(0) && !log.contains("WARN"), "{log}");
}
