//! What the program tells of denials on stderr, as text and as JSON, and while nobody reads it.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::Stdio;

use serde_json::Value;
use slidegate_testkit::program::{HttpRequest, ServerProcess, blocks, command, file, path, run};

const PAGE: &str = include_str!("../../../../docs/observe.md");

const RULES: &str = "rules:
  - {name: login, match: {path: /login}, key: [ip], limits: [5/min]}
  - {name: named, match: {path: /named}, key: [user], limits: [1/min]}
";

const LOGIN: &str = r#"{"attributes":{"path":"/login","ip":"203.0.113.7"}}"#;

/// Lines of the log after as many log-ins as leave one line, and after a hostile name.
fn lines(arguments: &[&str]) -> Vec<String> {
    let policy = file(&format!("version: 1\n{RULES}"));
    let server = ServerProcess::start(&[&[path(&policy)], arguments].concat());
    let headers = ["content-type: application/json", "x-request-id: 7c1e40"];
    for _ in 0..6 {
        server.ask(&HttpRequest { headers: &headers, ..HttpRequest::post("/v1/check", LOGIN) });
    }
    for _ in 0..2 {
        server.check(r#"{"attributes":{"path":"/named","user":"eve\n{\"rule\":\"forged\"}\u001b[2J"}}"#);
    }
    let (code, log) = server.terminate();
    assert_eq!(code, Some(0), "{log}");
    log.lines().map(str::to_owned).collect()
}

/// The names of the fields of a line of text, in their order.
fn names(line: &str) -> Vec<&str> {
    let (_, fields) = line.split_once("slidegate::denial: denied ").expect("a denial");
    fields.split(' ').filter_map(|field| field.split_once('=')).map(|(name, _)| name).collect()
}

#[test]
fn a_denial_is_a_line_of_text() {
    let lines = lines(&[]);
    let [login, named] = &lines[..] else { panic!("{lines:#?}") };
    let [example] = &blocks(PAGE, "text")[..] else { panic!("the page shows one line") };
    assert_eq!(names(login), names(example), "{login}\n{example}");
    for field in
        [" INFO slidegate::denial: denied rule=\"login\"", "subject=\"ip=203.0.113.7\"", "\"7c1e40\""]
    {
        assert!(
            login.contains(field) && example.contains(field),
            "{field} is not in {login}, or not in {example}"
        );
    }
    assert!(named.contains(r#"subject="user=\"eve\\n{"#) && !named.contains('\u{1b}'), "{named}");
}

#[test]
fn a_denial_is_an_object_in_a_line() {
    let lines = lines(&["--log-format", "json"]);
    let [login, named] = &lines[..] else { panic!("{lines:#?}") };
    let [login, named]: [Value; 2] = [login, named].map(|line| serde_json::from_str(line).expect("JSON"));
    let rows = [
        ("level", "INFO"),
        ("target", "slidegate::denial"),
        ("message", "denied"),
        ("rule", "login"),
        ("limit", "login-5/min"),
        ("mode", "enforced"),
        ("subject", "ip=203.0.113.7"),
        ("source", "store"),
        ("request_id", "7c1e40"),
    ];
    for (name, expected) in rows {
        assert_eq!(login[name], expected, "{name} of {login}");
    }
    assert_eq!(login["cost"], 1);
    assert!(login["retry_after_ms"].as_u64().is_some_and(|ms| ms <= 60_000), "{login}");
    let times = ["timestamp", "reset_at"].map(|name| login[name].as_str().expect("a time"));
    assert!(times[0] < times[1] && times[1].ends_with('Z'), "{times:?}");
    assert_eq!(named["rule"], "named", "{named}");
}

/// Whatever else is told has the same form.
#[test]
fn everything_is_json_on_request() {
    let limit = "{quota: 100, window: 1s, algorithm: counter}";
    let policy = file(&format!("version: 1\nrules:\n  - {{name: api, limits: [{limit}]}}\n"));
    let mut command = command(&["serve", path(&policy), "--http", "127.0.0.1:0"]);
    let (_, log) = ServerProcess::spawn(command.env("SLIDEGATE_LOG_FORMAT", "json")).terminate();
    let records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [warning] = &records[..] else { panic!("{records:?}") };
    assert_eq!(warning["level"], "WARN");
    assert!(warning["message"].as_str().is_some_and(|text| text.starts_with("rule api: ")), "{warning}");

    let ended = run(&["serve", "--log-format", "xml"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("--log-format"), "{ended:?}");
}

/// A log that nobody reads holds up nobody: its lines are left out, and that is told when it is
/// read again.
#[test]
fn a_log_that_nobody_reads_holds_up_nobody() {
    let rules = "rules: [{name: named, key: [user], limits: [1/h]}]";
    let policy = file(&format!("version: 1\nobserve: {{denial_log: 1000000}}\n{rules}\n"));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = command(&["serve", path(&policy), "--http", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(writer).spawn().expect("it starts");
    // The other end is the program's alone from now on.
    drop(command);
    let mut banner = BufReader::new(child.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    let listens = banner.find_map(|line| line.strip_prefix("listening on http://")?.parse().ok());
    let address: SocketAddr = listens.expect("an address");
    let body = format!(r#"{{"attributes":{{"user":"{}"}}}}"#, "x".repeat(900));
    let ask = || HttpRequest::post("/v1/check", &body).send(address).status;
    assert_eq!(ask(), 200);
    // More than the pipe and the queue can hold.
    for n in 0..1_500 {
        assert_eq!(ask(), 429, "request {n}");
    }
    let mut lines = BufReader::new(reader).lines().map_while(Result::ok);
    let left_out = lines.find_map(|line| line.split_once("left_out=")?.1.parse::<u64>().ok());
    assert!(left_out.is_some_and(|left_out| (1..1_500).contains(&left_out)), "{left_out:?}");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}
