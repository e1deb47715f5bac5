//! `slidegate serve --demo`: there is something to see, soon, of every kind.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;
use slidegate_testkit::program::{HttpRequest, ServerProcess, command, file, path, run};

/// Five times what a newcomer is told to wait.
const WITHIN: Duration = Duration::from_secs(75);

/// Looks on until a frame shows what is wanted.
fn watch(admin: SocketAddr, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let mut stream = TcpStream::connect(admin).expect("the server listens");
    stream.set_read_timeout(Some(WITHIN)).expect("a socket");
    write!(stream, "GET /v1/events HTTP/1.1\r\nhost: {admin}\r\n\r\n").expect("it reads");
    let deadline = Instant::now() + WITHIN;
    let mut last = Value::Null;
    for line in BufReader::new(stream).lines() {
        let line = line.expect("a line in time");
        let Some(data) = line.strip_prefix("data: ") else { continue };
        last = serde_json::from_str(data).expect("JSON");
        if last["totals"].is_object() && is_wanted(&last) {
            return last;
        }
        assert!(Instant::now() < deadline, "never seen: {last}");
    }
    panic!("it ended: {last}");
}

/// Whether a subject is in a list of a frame.
fn is_listed(frame: &Value, list: &str, rule: &str, who: &str) -> bool {
    let entries = frame[list]["entries"].as_array().expect("a list");
    let is_it = |value: &Value| value.as_str().is_some_and(|value| value.starts_with(who));
    entries.iter().any(|one| {
        one["rule"] == rule && one["subject"].as_object().is_some_and(|subject| subject.values().any(is_it))
    })
}

#[test]
fn everything_moves() {
    let server = ServerProcess::start(&["--demo"]);
    let banner = server.banner();
    assert!(
        banner
            .iter()
            .any(|line| line.starts_with("policy: demo, with about 200 simulated requests per second")),
        "{banner:?}"
    );
    assert!(banner.contains(&format!("console: http://{}/", server.admin())), "{banner:?}");
    let frame = watch(server.admin(), |frame| {
        let kinds = ["allowed", "denied", "barred", "unlimited", "looked", "would_deny", "near_misses"];
        kinds.iter().all(|kind| frame["totals"][kind].as_u64().is_some_and(|count| count > 0))
            && is_listed(frame, "denied", "login", "203.0.113.66")
            && is_listed(frame, "denied", "export", "nightly-billing")
            && is_listed(frame, "denied", "search", "batch-")
            && is_listed(frame, "near", "sync", "device-")
    });
    assert_eq!(frame["totals"]["failed"], 0, "{frame}");
    let would_deny = frame["lines"].as_array().expect("lines").iter().any(|line| {
        line["rule"] == "everyone" && line["observed"]["denied"].as_u64().is_some_and(|count| count > 0)
    });
    assert!(would_deny, "{frame}");
    // Those who mean well are not in the list of those who were refused.
    assert!(!is_listed(&frame, "denied", "orders", "user-"), "{frame}");
    let (code, log) = server.terminate();
    assert_eq!((code, log.contains("ERROR")), (Some(0), false), "{log}");
}

/// The population knows the token, and the rules are where others can be asked, too.
#[test]
fn flags_hold_for_it_too() {
    let server = ServerProcess::start(&["--demo", "--token", "correct-horse-battery"]);
    watch(server.admin(), |frame| frame["totals"]["allowed"].as_u64().is_some_and(|count| count > 0));
    assert_eq!(server.check(r#"{"attributes":{"path":"/login"}}"#).status, 401);
    let policy = HttpRequest::get("/v1/policy").send(server.admin()).json();
    assert_eq!((&policy["file"], policy["rules"].as_array().map(Vec::len)), (&Value::Null, Some(6)));
}

#[test]
fn it_has_rules_of_its_own() {
    let policy = file("version: 1\nrules: []\n");
    let ended = run(&["serve", "--demo", path(&policy)]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("--demo") && ended.stderr.contains("[POLICY]"), "{}", ended.stderr);
    let mut by_variables = command(&["serve"]);
    let by_variables = by_variables.envs([("SLIDEGATE_DEMO", "true"), ("SLIDEGATE_POLICY", path(&policy))]);
    assert_eq!(by_variables.output().expect("slidegate").status.code(), Some(2));
}
