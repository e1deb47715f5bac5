//! `slidegate serve`: what it reads, what goes before what, and how it ends.

use std::net::TcpListener;

use slidegate_testkit::program::{HttpRequest, ServerProcess, command, file, path, run};
use slidegate_testkit::servers::free_port;

const LOGIN: &str = r#"{"attributes":{"method":"POST","path":"/login","ip":"203.0.113.7"}}"#;

/// The same rule as in the example, with another quota.
fn policy(settings: &str) -> tempfile::NamedTempFile {
    file(&format!(
        "version: 1\n{settings}\nrules:\n  - {{name: login, match: {{path: /login}}, key: [ip], limits: [2/min]}}\n"
    ))
}

#[test]
fn without_a_file_it_serves_the_example() {
    let server = ServerProcess::start(&[]);
    let banner = server.banner();
    assert!(
        banner.contains(&"policy: built-in example (`slidegate example` prints it)".to_owned()),
        "{banner:?}"
    );
    assert!(banner.contains(&"store:  memory, at most 256 MiB".to_owned()), "{banner:?}");
    assert!(banner.contains(&format!("console: http://{}/", server.admin())), "{banner:?}");
    let reply = server.check(LOGIN);
    assert_eq!((reply.status, reply.json()["remaining"].as_u64()), (200, Some(4)), "{reply:?}");
    assert_eq!(reply.json()["observed"][0]["rule"], "everyone");
}

#[test]
fn with_a_file_it_serves_that() {
    let policy = policy("store: {max_memory: 3MiB}");
    let server = ServerProcess::start(&[path(&policy)]);
    let banner = server.banner().join("\n");
    assert!(banner.contains(&format!("policy: {}, 1 rule\n", path(&policy))), "{banner}");
    assert!(banner.contains("store:  memory, at most 3 MiB"), "{banner}");
    assert!(!banner.contains("curl"), "{banner}");
    assert_eq!(server.check(LOGIN).json()["remaining"], 1);
}

#[test]
fn a_policy_can_come_from_standard_input() {
    let mut command = command(&["serve", "-", "--http", "127.0.0.1:0"]);
    let policy = policy("");
    let server = ServerProcess::spawn(command.stdin(policy.reopen().expect("a file")));
    assert!(server.banner().contains(&"policy: standard input, 1 rule".to_owned()), "{:?}", server.banner());
    assert_eq!(server.check(LOGIN).json()["remaining"], 1);
}

/// A terminal gets colours; a pipe gets none.
#[test]
fn a_pipe_gets_plain_text() {
    let server = ServerProcess::start(&[]);
    assert!(server.banner().iter().all(|line| !line.contains('\x1b')), "{:?}", server.banner());
}

/// Which style the headers have tells whose word counted.
#[test]
fn flags_go_before_variables_and_variables_before_the_file() {
    let policy = policy("server: {headers: legacy}");
    let rows = [
        (None, None, "ratelimit-limit"),
        (Some("x-ratelimit"), None, "x-ratelimit-limit"),
        (None, Some("draft"), "ratelimit-policy"),
        (Some("x-ratelimit"), Some("draft"), "ratelimit-policy"),
    ];
    for (variable, flag, expected) in rows {
        let mut command = command(&["serve", path(&policy), "--http", "127.0.0.1:0"]);
        command.envs(variable.map(|style| ("SLIDEGATE_HEADERS", style)));
        command.args(flag.map(|style| format!("--headers={style}")));
        let server = ServerProcess::spawn(&mut command);
        let reply = server.check(LOGIN);
        let old_headers = ["ratelimit-limit", "x-ratelimit-limit", "ratelimit-policy"];
        let found: Vec<_> = old_headers.into_iter().filter(|name| reply.header(name).is_some()).collect();
        assert_eq!(found, [expected], "variable {variable:?}, flag {flag:?}");
    }
}

#[test]
fn every_setting_can_be_a_variable() {
    let policy = policy("");
    let mut command = command(&["serve"]);
    command.envs([
        ("SLIDEGATE_POLICY", path(&policy)),
        ("SLIDEGATE_HTTP", "127.0.0.1:0"),
        ("SLIDEGATE_MAX_MEMORY", "5MiB"),
        ("SLIDEGATE_TOKEN", "correct-horse-battery"),
        ("SLIDEGATE_LOG", "error"),
    ]);
    let server = ServerProcess::spawn(&mut command);
    assert!(server.banner().contains(&"store:  memory, at most 5 MiB".to_owned()), "{:?}", server.banner());
    assert_eq!(server.check(LOGIN).status, 401);
    let headers = ["content-type: application/json", "authorization: Bearer correct-horse-battery"];
    let allowed = server.ask(&HttpRequest { headers: &headers, ..HttpRequest::post("/v1/check", LOGIN) });
    assert_eq!(allowed.status, 200, "{allowed:?}");
    assert!(!server.banner().join("").contains("correct-horse"), "secrets are not shown");
}

/// Nothing is connected before the first request, and what cannot be reached is answered by the
/// share of this node.
#[test]
fn redis_can_be_named_by_a_flag() {
    let policy = policy("store: {kind: memory}");
    let free = free_port();
    let url = format!("redis://user:secret@127.0.0.1:{free}");
    let server = ServerProcess::start(&[path(&policy), "--redis", &url, "--log", "off"]);
    let banner = server.banner().join("\n");
    assert!(banner.contains(&format!("store:  Redis at redis://127.0.0.1:{free}")), "{banner}");
    let reply = server.check(LOGIN);
    assert_eq!((reply.status, reply.json()["source"].as_str()), (200, Some("local")), "{reply:?}");
}

#[test]
fn an_invalid_policy_is_reported_with_its_position() {
    let broken = file(
        "version: 1\nrules:\n  - name: login\n    key: [ip]\n    limits: [\"5/fortnight\"]\n    colour: red\n",
    );
    let ended = run(&["serve", path(&broken)]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(ended.stdout, "");
    // Both errors, each with its line and column, and what stands there.
    for expected in [":5:14", ":6:5", "5/fortnight", "colour"] {
        assert!(ended.stderr.contains(expected), "{expected} is not in:\n{}", ended.stderr);
    }
}

#[test]
fn errors_outside_the_file_are_reported_too() {
    let ended = run(&["serve", "no-such-file.yaml"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("cannot read no-such-file.yaml"), "{}", ended.stderr);
    assert!(ended.stderr.contains("slidegate example"), "{}", ended.stderr);

    let rows = [
        ["--http", "8080"],
        ["--max-memory", "much"],
        ["--headers", "loud"],
        ["--redis", "http://127.0.0.1"],
        ["--log", "loud"],
    ];
    for [flag, value] in rows {
        let ended = run(&["serve", flag, value]);
        assert_eq!(ended.code, Some(2), "{flag} {value}: {ended:?}");
        assert!(ended.stderr.contains(flag) && ended.stderr.contains(value), "{}", ended.stderr);
    }
}

#[test]
fn a_port_in_use_is_reported_with_a_remedy() {
    let busy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = busy.local_addr().expect("an address").to_string();
    let ended = run(&["serve", "--http", &address]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    let stderr = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(stderr.contains(&format!("cannot listen on {address}")), "{stderr}");
    assert!(stderr.contains("choose another port with --http 127.0.0.1:"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn it_ends_at_a_signal() {
    let server = ServerProcess::start(&[]);
    assert_eq!(server.check(LOGIN).status, 200);
    let (code, log) = server.terminate();
    assert_eq!((code, log.as_str()), (Some(0), ""));
}

/// What may surprise is said at the start.
#[cfg(unix)]
#[test]
fn warnings_go_to_stderr() {
    let policy =
        file("version: 1\nrules:\n  - {name: api, limits: [{quota: 100, window: 1s, algorithm: counter}]}\n");
    let (code, log) = ServerProcess::start(&[path(&policy)]).terminate();
    assert_eq!(code, Some(0));
    assert!(log.starts_with("warning: rule api: "), "{log}");
    assert!(log.contains("199"), "{log}");
}
