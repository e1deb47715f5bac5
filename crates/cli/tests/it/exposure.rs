//! Who may ask: listeners that are open to other machines are warned of, and wrong tokens are
//! counted and logged.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use serde_json::Value;
use slidegate_testkit::program::{self, HttpRequest, ServerProcess, file, path, run};

const OPEN: &str = "\
version: 1
server:
  http: 0.0.0.0:0
  grpc: { listen: \"[::]:8081\" }
  resp: 192.0.2.1:6380
rules: [{ name: api, key: [user], limits: [5/min] }]
";

fn warnings(policy: &str) -> Vec<String> {
    let policy = file(policy);
    let ended = run(&["validate", path(&policy), "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let warnings = report["warnings"].as_array().expect("a list").iter();
    let warnings: Vec<String> =
        warnings.map(|warning| warning.as_str().expect("a text").to_owned()).collect();
    let text = run(&["validate", path(&policy)]).stdout;
    for warning in &warnings {
        assert!(text.contains(&format!("\nwarning: {warning}\n")), "{text}");
    }
    warnings
}

#[test]
fn an_open_data_plane_is_warned_of() {
    let all = warnings(OPEN);
    let starts = ["server.http: 0.0.0.0:0 is", "server.grpc: [::]:8081 is", "server.resp: 192.0.2.1:6380 is"];
    assert_eq!(all.len(), starts.len(), "{all:?}");
    for (warning, start) in all.iter().zip(starts) {
        assert!(warning.starts_with(start) && warning.contains("server.token"), "{warning}");
    }
    // By a token for all of them, by client certificates for one, or where nobody else comes.
    assert_eq!(warnings(&OPEN.replace("server:\n", "server:\n  token: sixteen characters\n")), [""; 0]);
    let tls = "[::]:8081\", tls: { certificate: a, key: b, client_ca: c }";
    assert_eq!(warnings(&OPEN.replace("[::]:8081\"", tls)).len(), 2);
    assert_eq!(warnings(&OPEN.replace("[::]:8081\"", &tls.replace(", client_ca: c", ""))).len(), 3);
    let local =
        OPEN.replace("0.0.0.0:0", "127.0.0.1:0").replace("[::]", "[::1]").replace("192.0.2.1", "127.9.9.9");
    assert_eq!(warnings(&local), [""; 0]);
}

#[test]
fn it_is_warned_of_at_the_start() {
    let policy = file(&OPEN.replace("[::]:8081", "127.0.0.1:0").replace("192.0.2.1:6380", "127.0.0.1:0"));
    let arguments = ["serve", path(&policy), "--admin", "127.0.0.1:0"];
    let (_, log) = ServerProcess::spawn(&mut program::command(&arguments)).terminate();
    assert!(log.starts_with("warning: server.http: 0.0.0.0:0 is reachable from other machines"), "{log}");
    // Flags count as the file does.
    let more = [&arguments[..], &["--token", "correct-horse-battery"]].concat();
    let (_, log) = ServerProcess::spawn(&mut program::command(&more)).terminate();
    assert_eq!(log, "");
    let more = [&arguments[..], &["--http", "127.0.0.1:0", "--log-format", "json"]].concat();
    let (_, log) = ServerProcess::spawn(&mut program::command(&more)).terminate();
    assert_eq!(log, "");
}

/// Sends a call with a wrong token, and with none, to a listener.
fn guess(listener: &str, address: SocketAddr) {
    const LIMIT: &str = "envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
    let wrong = "authorization: Bearer no-such-token-here";
    match listener {
        "http" | "admin" => {
            let path = if listener == "http" { "/v1/check" } else { "/v1/status" };
            for headers in
                [&[wrong, "content-type: application/json"][..], &["content-type: application/json"]]
            {
                let reply = HttpRequest { headers, ..HttpRequest::post(path, "{}") }.send(address);
                assert_eq!(reply.status, 401, "{reply:?}");
            }
        }
        "grpc" => {
            for header in [wrong, "x-other: header"] {
                let url = format!("http://{address}/{LIMIT}");
                let headers = ["-H", "content-type: application/grpc", "-H", header];
                let mut curl = Command::new("curl");
                curl.args(["-s", "-i", "--http2-prior-knowledge", "-X", "POST", &url]).args(headers);
                let output = curl.output().expect("curl");
                let text = String::from_utf8_lossy(&output.stdout);
                assert!(text.contains("grpc-status: 16"), "{text}");
            }
        }
        _ => {
            let mut stream = TcpStream::connect(address).expect("a connection");
            stream.write_all(b"AUTH no-such-token-here\r\nPING\r\n").expect("sent");
            let mut replies = BufReader::new(stream).lines();
            for start in ["-WRONGPASS", "-NOAUTH"] {
                let reply = replies.next().expect("a reply").expect("a line");
                assert!(reply.starts_with(start), "{reply}");
            }
        }
    }
}

#[test]
fn wrong_tokens_are_counted_and_logged_within_bounds() {
    let policy = file(
        "version: 1\nserver: { token: of-the-checks-alone, grpc: 127.0.0.1:0, resp: 127.0.0.1:0 }\nrules: []\n",
    );
    let server = ServerProcess::start(&[path(&policy), "--admin-token", "correct-horse-battery"]);
    let listeners = [
        ("http", server.address()),
        ("grpc", server.grpc()),
        ("resp", server.resp()),
        ("admin", server.admin()),
    ];
    for _ in 0..3 {
        listeners.iter().for_each(|(listener, address)| guess(listener, *address));
    }
    let headers = ["authorization: Bearer correct-horse-battery"];
    let metrics = HttpRequest { headers: &headers, ..HttpRequest::get("/metrics") }.send(server.admin()).body;
    for (listener, _) in listeners {
        for reason in ["missing", "wrong"] {
            let sample =
                format!("slidegate_auth_failures_total{{listener=\"{listener}\",reason=\"{reason}\"}} 3\n");
            assert!(metrics.contains(&sample), "{sample}{metrics}");
        }
    }
    let (_, log) = server.terminate();
    assert!(!log.contains("no-such-token"), "{log}");
    for (listener, _) in listeners {
        let about = format!("listener=\"{listener}\"");
        let lines = log.lines().filter(|line| line.contains("wrong token") && line.contains(&about)).count();
        // One at once, and at most one more for every second that the test took.
        assert!((1..=3).contains(&lines), "{listener}: {lines}\n{log}");
    }
}

#[test]
fn requests_without_a_key_are_warned_of_once() {
    let policy = file(
        "version: 1\nrules:\n  - { name: api, key: [api_key], limits: [9/min] }\n  - { name: org, key: [org], limits: [9/min] }\n",
    );
    let server = ServerProcess::start(&[path(&policy)]);
    for _ in 0..5 {
        assert_eq!(server.check("{\"attributes\":{\"org\":\"acme\"}}").status, 200);
    }
    let metrics = HttpRequest::get("/metrics").send(server.admin()).body;
    let samples: Vec<&str> =
        metrics.lines().filter(|line| line.starts_with("slidegate_requests_without_key_total")).collect();
    assert_eq!(samples, ["slidegate_requests_without_key_total{rule=\"api\"} 5"], "{metrics}");
    let (_, log) = server.terminate();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("without `")).collect();
    let [line] = lines[..] else { panic!("{log}") };
    assert!(
        line.contains("WARN") && line.contains("without `api_key`") && line.contains("rule=\"api\""),
        "{line}"
    );
}
