//! The program, as its README runs it, and what the README does not show.

use std::path::Path;
use std::process::Command;

use slidegate_testkit::program::{HttpReply, HttpRequest, ServerProcess, console, hold};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
const README: &str = include_str!("../README.md");

fn start() -> ServerProcess {
    let mut command = Command::new(env!("CARGO_BIN_EXE_axum-tiers"));
    ServerProcess::spawn(command.current_dir(FOLDER).env("LISTEN", "127.0.0.1:0").env_remove("POLICY"))
}

fn get(server: &ServerProcess, path: &str, token: &str) -> HttpReply {
    let authorization = format!("authorization: Bearer {token}");
    server.ask(&HttpRequest { headers: &[&authorization], ..HttpRequest::get(path) })
}

#[test]
fn the_readme_is_true() {
    hold(Path::new(FOLDER), start, |server| {
        let steps = console(README, |line| line.replace("http://127.0.0.1:3000", &server.url()));
        assert_eq!(steps.len(), 4);
        steps
    });
}

#[test]
fn users_share_nothing_and_tiers_differ() {
    let server = start();
    for left in (0..5).rev() {
        let reply = get(&server, "/v1/items", "token-of-alice");
        assert_eq!((reply.status, &*reply.body), (200, "items\n"));
        let state = reply.header("ratelimit").expect("the numbers");
        assert!(state.starts_with(&format!("\"api-5/min\";r={left};t=")), "{state}");
    }
    let refused = get(&server, "/v1/items", "token-of-alice");
    assert_eq!((refused.status, refused.header("content-type")), (429, Some("application/problem+json")));
    let retry_after: u64 = refused.header("retry-after").and_then(|text| text.parse().ok()).expect("seconds");
    let problem = refused.json();
    assert_eq!(problem["violated-policies"][0], "api-5/min");
    let retry_after_ms = problem["retry_after_ms"].as_u64().expect("an exact wait");
    assert_eq!(retry_after, retry_after_ms.div_ceil(1_000));
    // Bob has another plan, and his own quota.
    let bob = get(&server, "/v1/export", "token-of-bob");
    assert_eq!((bob.status, &*bob.body), (200, "everything of bob\n"));
    let policy = "\"api-50/min\";q=50;w=60, \"export-20/h\";q=20;w=3600";
    assert_eq!(bob.header("ratelimit-policy"), Some(policy));
}

#[test]
fn a_refusal_by_one_rule_charges_the_other_nothing() {
    let server = start();
    let statuses: Vec<u16> = (0..4).map(|_| get(&server, "/v1/export", "token-of-alice").status).collect();
    assert_eq!(statuses, [200, 200, 429, 429]);
    let reply = get(&server, "/v1/items", "token-of-alice");
    let state = reply.header("ratelimit").expect("the numbers");
    assert!(state.starts_with("\"api-5/min\";r=2;"), "{state}");
}

#[test]
fn requests_without_an_account_do_not_count() {
    let server = start();
    for _ in 0..30 {
        let reply = get(&server, "/v1/items", "token-of-nobody");
        assert_eq!((reply.status, reply.header("ratelimit")), (401, None));
    }
    assert_eq!(server.ask(&HttpRequest::get("/v1/items")).status, 401);
    assert_eq!(get(&server, "/v1/items", "token-of-alice").status, 200);
}
