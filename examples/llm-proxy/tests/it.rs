//! The proxy in front of its stand-in for a model, as the README runs them, and of one that hangs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use slidegate_testkit::program::{HttpReply, HttpRequest, ServerProcess, console, hold};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
/// Tokens that the requests below reserve.
const ESTIMATE: u64 = 500;
const QUOTA: u64 = 2_000;

fn proxy(upstream: &str) -> ServerProcess {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-proxy"));
    let command = command.env("LISTEN", "127.0.0.1:0").env("UPSTREAM", upstream).env_remove("POLICY");
    ServerProcess::spawn(command.current_dir(FOLDER))
}

fn stub() -> ServerProcess {
    ServerProcess::spawn(Command::new(env!("CARGO_BIN_EXE_llm-stub")).env("LISTEN", "127.0.0.1:0"))
}

fn complete(proxy: &ServerProcess, body: &str) -> HttpReply {
    let headers = ["content-type: application/json", "authorization: Bearer alice"];
    proxy.ask(&HttpRequest { headers: &headers, ..HttpRequest::post("/v1/chat/completions", body) })
}

/// Tokens that are left after the reservation of an answer.
fn left(reply: &HttpReply) -> u64 {
    let state = reply.header("ratelimit").unwrap_or_else(|| panic!("no numbers: {reply:?}"));
    let number = state.split_once("r=").and_then(|(_, rest)| rest.split([';', ',']).next());
    number.and_then(|text| text.parse().ok()).expect("a number")
}

fn reserved(body: &str) -> u64 {
    ESTIMATE + body.len() as u64 / 4
}

#[test]
fn the_readme_is_true() {
    let stub = stub();
    hold(
        Path::new(FOLDER),
        || proxy(&stub.url()),
        |server| {
            let steps = console(include_str!("../README.md"), |line| {
                line.replace("http://127.0.0.1:3000", &server.url())
            });
            assert_eq!(steps.len(), 2);
            steps
        },
    );
}

#[test]
fn what_an_answer_took_replaces_the_estimate() {
    let stub = stub();
    let proxy = proxy(&stub.url());
    let mut used = 0;
    for (max_tokens, stream) in [(1, true), (7, false), (90, true), (600, false), (1, false)] {
        let body = format!(r#"{{"max_tokens":{max_tokens},"stream":{stream},"messages":["a","b"]}}"#);
        let reply = complete(&proxy, &body);
        assert_eq!((reply.status, left(&reply)), (200, QUOTA - used - reserved(&body)), "{body}");
        assert!(reply.body.contains(&format!("\"total_tokens\":{}", max_tokens + 2)), "{}", reply.body);
        used += max_tokens + 2;
    }
}

#[test]
fn answers_without_a_report_cost_what_they_should() {
    // The model refuses: nothing was done.
    let stub = stub();
    let at_stub = proxy(&stub.url());
    let invalid = r#"{"max_tokens":"many"}"#;
    let valid = r#"{"max_tokens":1,"messages":[]}"#;
    assert_eq!(complete(&at_stub, invalid).status, 422);
    assert_eq!(left(&complete(&at_stub, valid)), QUOTA - reserved(valid));
    // There is no model.
    let nowhere =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let at_nowhere = proxy(&format!("http://{nowhere}"));
    for _ in 0..9 {
        let reply = complete(&at_nowhere, valid);
        assert_eq!((reply.status, left(&reply)), (502, QUOTA - reserved(valid)));
    }
}

/// A model that begins an answer and never ends it: its client goes away and is charged the estimate.
#[test]
fn a_client_that_goes_away_is_charged_the_estimate() {
    let model = TcpListener::bind("127.0.0.1:0").expect("a port");
    let proxy = proxy(&format!("http://{}", model.local_addr().expect("an address")));
    let body = r#"{"max_tokens":1,"messages":[]}"#;
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: proxy\r\nauthorization: Bearer alice\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let begin = || {
        let mut client = TcpStream::connect(proxy.address()).expect("the proxy listens");
        client.write_all(request.as_bytes()).expect("it reads");
        let (mut upstream, _) = model.accept().expect("the proxy asks the model");
        let mut piece = [0; 4_096];
        assert!(upstream.read(&mut piece).expect("a request") > 0);
        upstream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 999\r\n\r\ndata: {}\n\n")
            .expect("the proxy reads");
        let mut answer = String::new();
        while !answer.contains("data: {}") {
            let length = client.read(&mut piece).expect("an answer");
            answer.push_str(str::from_utf8(&piece[..length]).expect("UTF-8"));
        }
        (client, upstream, answer)
    };
    for round in 1..=3 {
        let (client, mut upstream, answer) = begin();
        let state = format!("r={};", QUOTA - round * reserved(body));
        assert!(answer.contains(&state), "{state} is not in {answer}");
        drop(client);
        // The proxy hangs up when it has noticed.
        assert_eq!(upstream.read(&mut [0; 16]).unwrap_or(0), 0);
    }
}

#[test]
fn every_request_needs_a_key() {
    let proxy = proxy("http://127.0.0.1:9");
    let reply = proxy.ask(&HttpRequest::post("/v1/chat/completions", "{}"));
    assert_eq!(reply.status, 403, "{reply:?}");
}
