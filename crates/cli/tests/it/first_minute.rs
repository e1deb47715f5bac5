//! What the banner, the README and the first page of the documentation tell people to type prints
//! what stands beside it.

use serde_json::Value;
use slidegate_testkit::program::{
    self, HttpRequest, ServerProcess, ShellStep, blocks, command, console, file, path, run, run_all, steps,
};

const README: &str = include_str!("../../../../README.md");
const GETTING_STARTED: &str = include_str!("../../../../docs/getting-started.md");

const CHOOSING: &str = include_str!("../../../../docs/choosing.md");
const HTTP: &str = include_str!("../../../../docs/http.md");
const ADMIN: &str = include_str!("../../../../docs/admin.md");
const METRICS: &str = include_str!("../../../../docs/metrics.md");

/// Where the pages say that the server is.
const PAGES_ADDRESS: &str = "127.0.0.1:8080";
/// The same for operators.
const PAGES_ADMIN: &str = "127.0.0.1:8090";

/// Whatever is written goes elsewhere.
fn hold(start: impl Fn() -> ServerProcess, steps_of: impl Fn(&ServerProcess) -> Vec<ShellStep>) {
    let directory = tempfile::tempdir().expect("a directory");
    program::hold(directory.path(), start, steps_of);
}

/// The lines of a banner from which commands begin.
fn tries(server: &ServerProcess) -> Vec<ShellStep> {
    let from = server.banner().iter().position(|line| line == "Try it in another terminal:").expect("tries");
    let lines = server.banner()[from + 1..].iter().map(String::as_str);
    let mut found = steps(lines);
    assert_eq!(found.pop().map(|step| step.command).as_deref(), Some("Press Ctrl-C to stop."));
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found.iter().all(|step| !step.prints.is_empty()), "{found:?}");
    found
}

#[test]
fn the_banner_tells_the_truth() {
    hold(|| ServerProcess::start(&[]), tries);
}

/// The lines follow the flags.
#[test]
fn the_banner_tells_the_truth_in_every_style() {
    for style in ["draft", "legacy", "x-ratelimit", "none"] {
        hold(|| ServerProcess::start(&["--headers", style]), tries);
    }
}

#[test]
fn the_banner_tells_the_truth_with_a_token_and_on_every_address() {
    let start = || {
        let token = ["--token", "correct-horse-battery"];
        ServerProcess::spawn(&mut command(
            &[&["serve", "--http", "0.0.0.0:0", "--admin", "127.0.0.1:0"], &token[..]].concat(),
        ))
    };
    let with_token = |server: &ServerProcess| {
        let set = |mut step: ShellStep| {
            step.command.insert_str(0, "SLIDEGATE_TOKEN=correct-horse-battery\n");
            step
        };
        tries(server).into_iter().map(set).collect()
    };
    hold(start, with_token);
}

/// What a page tells to type, with the addresses of a server.
fn typed(page: &str, server: &ServerProcess) -> Vec<ShellStep> {
    console(page, |line| {
        let line = line.replace(PAGES_ADDRESS, &server.address().to_string());
        line.replace(PAGES_ADMIN, &server.admin().to_string())
    })
}

fn page_holds(page: &str, least: usize) {
    let steps_of = |server: &ServerProcess| {
        let found = typed(page, server);
        assert!(found.len() >= least, "{found:?}");
        found
    };
    hold(|| ServerProcess::start(&[]), steps_of);
}

#[test]
fn the_readme_tells_the_truth() {
    page_holds(README, 3);
    assert_eq!(blocks(README, "sh")[0], "cargo run --release -- serve", "the one command comes first");
}

#[test]
fn the_first_page_tells_the_truth() {
    page_holds(GETTING_STARTED, 7);
}

#[test]
fn the_page_for_operators_tells_the_truth() {
    page_holds(ADMIN, 21);
}

#[test]
fn the_page_on_metrics_tells_the_truth() {
    page_holds(METRICS, 3);
}

/// What is said of the policy on that page.
#[test]
fn the_page_on_algorithms_tells_the_truth() {
    let [policy] = blocks(CHOOSING, "yaml")[..] else { panic!("one policy") };
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("policy.yaml"), policy).expect("it can be written");
    let server = ServerProcess::start(&[]);
    let steps = typed(CHOOSING, &server);
    assert_eq!(steps.len(), 1, "{steps:?}");
    run_all(&steps, &server, directory.path()).expect("nothing there depends on the time");
}

/// Every policy on these pages is one.
#[test]
fn policies_on_pages_are_right() {
    let policies = [README, GETTING_STARTED, CHOOSING, HTTP, ADMIN].map(|page| blocks(page, "yaml")).concat();
    assert!(policies.len() >= 2, "{policies:?}");
    for policy in policies {
        let ended = run(&["validate", path(&file(policy))]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
}

/// The answers that the page on HTTP shows are those that come, but for the time.
#[test]
fn the_page_on_http_shows_real_answers() {
    let server = ServerProcess::start(&[path(&file(
        "
version: 1
rules:
  - {name: login, match: {path: /login}, key: [ip], limits: [5/min]}
  - {name: rlaas, match: {path: /check}, limits: [5/min]}
  - {name: users, match: {descriptor: user}, key: [user], limits: [5/min]}
",
    ))]);
    let [check, rlaas, envoy] = blocks(HTTP, "json")[..] else { panic!("three answers") };
    let (_, body) = blocks(HTTP, "http")[0].split_once("\n\n").expect("a request with a body");
    let reply = server.check(body);
    let mut expected: Value = serde_json::from_str(check).expect("JSON");
    expected["decided_at_ms"] = reply.json()["decided_at_ms"].clone();
    assert_eq!(reply.json(), expected);
    assert_eq!(server.ask(&HttpRequest::get("/check?userId=alice")).body, rlaas);
    let calls = blocks(HTTP, "http").into_iter().filter_map(|block| block.strip_prefix("POST /json\n"));
    let [call] = calls.collect::<Vec<_>>()[..] else { panic!("one call") };
    let expected: Value = serde_json::from_str(envoy).expect("JSON");
    assert_eq!(server.ask(&HttpRequest::post("/json", call)).json(), expected);
}
