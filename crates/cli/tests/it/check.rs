//! `slidegate check` against a live server: what it prints, and what it ends with.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::Value;
use slidegate_testkit::program::{Ended, ServerProcess, command, file, path, run};

/// Asks about a log-in, with more arguments.
fn login(server: &ServerProcess, more: &[&str]) -> Ended {
    let url = server.url();
    run(&[&["check", "--server", &url, "method=POST", "path=/login", "ip=203.0.113.7"], more].concat())
}

#[test]
fn allowed_is_0_and_denied_is_1() {
    let server = ServerProcess::start(&[]);
    for left in [4, 3, 2, 1, 0] {
        let ended = login(&server, &[]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let expected = format!("allowed: {left} left\n  login-5/min: {left} of 5 left\n");
        assert!(ended.stdout.starts_with(&expected), "{}", ended.stdout);
    }
    let ended = login(&server, &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.starts_with("denied: retry after "), "{}", ended.stdout);
    assert!(ended.stdout.contains("\n  login-5/min: 0 of 5 left, retry after "), "{}", ended.stdout);
}

#[test]
fn costs_are_charged_and_0_only_looks() {
    let server = ServerProcess::start(&[]);
    for (cost, code, expected) in [
        ("0", 0, "allowed: 5 left\n"),
        ("3", 0, "allowed: 2 left\n"),
        ("3", 1, "denied: retry after "),
        ("2", 0, "allowed: 0 left\n"),
        ("6", 1, "denied: cost 6 exceeds the limit of 5\n"),
    ] {
        let ended = login(&server, &["--cost", cost]);
        assert_eq!(ended.code, Some(code), "{cost}: {ended:?}");
        assert!(ended.stdout.starts_with(expected), "{cost}: {}", ended.stdout);
    }
    let never = login(&server, &["--cost", "6"]).stdout;
    assert!(never.contains("login-5/min: 0 of 5 left, cost exceeds the limit\n"), "{never}");
}

#[test]
fn it_can_wait_for_its_turn() {
    let policy = file("version: 1\nrules: [{name: slow, limits: [1/200ms]}]");
    let server = ServerProcess::start(&[path(&policy)]);
    let url = server.url();
    for _ in 0..3 {
        let ended = run(&["check", "--server", &url, "--wait", "10000"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

#[test]
fn json_is_the_answer_as_it_is() {
    let server = ServerProcess::start(&[]);
    let ended = login(&server, &["--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let answer: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!((&answer["allowed"], &answer["remaining"]), (&Value::Bool(true), &Value::from(4)));
}

#[test]
fn where_no_rule_applies_it_says_so() {
    let policy = file("version: 1\nrules: []");
    let server = ServerProcess::start(&[path(&policy)]);
    let ended = login(&server, &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "allowed: no rule applies\n"));
}

#[test]
fn a_deny_list_denies() {
    let policy = file("version: 1\nrules: [{name: api, limits: [5/min], deny: [{ip: 203.0.113.0/24}]}]");
    let ended = login(&ServerProcess::start(&[path(&policy)]), &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.starts_with("denied: rule api blocks this request"), "{}", ended.stdout);
}

#[test]
fn what_makes_no_sense_is_2() {
    let server = ServerProcess::start(&["--token", "correct-horse-battery"]);
    let url = server.url();
    let unauthorized = login(&server, &[]);
    assert_eq!(unauthorized.code, Some(2), "{unauthorized:?}");
    assert!(unauthorized.stderr.starts_with("error: 401 Unauthorized: "), "{}", unauthorized.stderr);

    let token = ["--token", "correct-horse-battery"];
    assert_eq!(login(&server, &token).code, Some(0));
    let by_variable = command(&["check", "--server", &url]).env("SLIDEGATE_TOKEN", token[1]).output();
    assert_eq!(Ended::from(by_variable.expect("it runs")).code, Some(0));

    let no_address = run(&["check", "--server", &url, token[0], token[1], "ip=nowhere"]);
    assert_eq!(no_address.code, Some(2), "{no_address:?}");
    assert!(
        no_address.stderr.starts_with("error: 400 Bad Request: ") && no_address.stderr.contains("nowhere")
    );

    for wrong in ["login", "=x", "--cost=-1", "--cost=many", "--server=ftp://x", "--server=x"] {
        let ended = run(&["check", wrong]);
        assert_eq!(ended.code, Some(2), "{wrong}: {ended:?}");
        assert!(!ended.stderr.is_empty(), "{wrong}");
    }
}

#[test]
fn no_answer_is_3() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let ended = run(&["check", "--server", &format!("http://{free}"), "path=/login"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.starts_with(&format!("error: http://{free}: cannot connect: ")), "{}", ended.stderr);
    assert!(ended.stderr.contains("slidegate serve"), "{}", ended.stderr);
}

/// Somebody else's server is no answer either.
#[test]
fn another_program_is_3() {
    let answers = ["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "nonsense\r\n\r\n", ""];
    for answer in answers {
        let other = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = other.local_addr().expect("an address");
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = other.accept().expect("a connection");
            let read = stream.read(&mut [0; 4096]).expect("a request");
            assert!(read > 0);
            stream.write_all(answer.as_bytes()).expect("it reads");
        });
        let ended = run(&["check", "--server", &format!("http://{address}"), "path=/login"]);
        thread.join().expect("it was asked");
        assert_eq!(ended.code, Some(3), "{answer:?}: {ended:?}");
    }
}
