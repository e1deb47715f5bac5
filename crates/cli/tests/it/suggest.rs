//! `slidegate suggest`: the policy for a log, its comments, and what it refuses.

mod enforced;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;
use slidegate_testkit::cases::Rng;
use slidegate_testkit::program::{command, file, hold_without_server, path, run};

/// First second of the log: 15 Nov 2026, 12:00.
const START_S: u64 = 1_794_744_000;
const PAGE: &str = include_str!("../../../../docs/suggest.md");

/// Line of nginx with milliseconds.
fn line(at_ms: u64, ip: &str, target: &str, status: u16) -> String {
    let (end_s, ms) = (START_S + at_ms / 1_000, at_ms % 1_000);
    let (minute, second) = (at_ms / 60_000 % 60, at_ms / 1_000 % 60);
    format!(
        "{ip} - - [15/Nov/2026:12:{minute:02}:{second:02} +0000] \"GET {target} HTTP/1.1\" {status} 512 \"-\" \"curl/8\" \"-\" host=\"example.com\" {end_s}.{ms:03} 0.000\n"
    )
}

/// The log of the page: 2,500 clients for ten minutes, of which two are in a hurry.
fn log_of_the_page() -> String {
    let rng = Rng::new(19);
    let mut requests: Vec<(u64, String, String, u16)> = Vec::new();
    for client in 0..2_500_u64 {
        let ip = format!("198.51.{}.{}", 100 + client / 250, 1 + client % 250);
        for _ in 0..1 + rng.below(6) {
            let start_ms = rng.below(590_000);
            requests.push((start_ms, ip.clone(), "/login".to_owned(), 200));
            for n in 0..rng.below(8) {
                let target = format!("/users/{}/orders?page={n}", rng.below(5_000));
                requests.push((start_ms + 100 + n * rng.below(900), ip.clone(), target, 200));
            }
        }
    }
    for n in 0..400 {
        requests.push((60_000 + n * 20, "203.0.113.7".to_owned(), "/login".to_owned(), 200));
        requests.push((90_000 + n * 50, "203.0.113.8".to_owned(), format!("/users/{n}/orders"), 200));
    }
    requests.sort();
    requests.iter().map(|(at_ms, ip, target, status)| line(*at_ms, ip, target, *status)).collect()
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("a file");
}

#[test]
fn commands_of_the_page_print_what_it_shows() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "access.log", &log_of_the_page());
    hold_without_server(PAGE, folder.path());
}

/// What is written is a policy that only observes.
#[test]
fn a_suggestion_is_a_valid_policy_in_observe_mode() {
    let log = file(&log_of_the_page());
    let ended = run(&["suggest", path(&log), "--capacity", "500/s", "--window", "1s,1min,1h"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let policy = file(&ended.stdout);
    let explained = run(&["validate", path(&policy), "--json"]);
    assert_eq!(explained.code, Some(0), "{explained:?}");
    let report: Value = serde_json::from_str(&explained.stdout).expect("JSON");
    let rules = report["rules"].as_array().expect("rules");
    let names: Vec<&str> = rules.iter().filter_map(|rule| rule["name"].as_str()).collect();
    assert_eq!(names, ["capacity", "users-id-orders", "login"]);
    for rule in rules {
        assert!(rule["mode"].as_str().is_some_and(|mode| mode.contains("observe")), "{rule}");
    }
}

#[test]
fn json_has_the_policy_and_the_numbers_that_it_follows_from() {
    let log = file(&log_of_the_page());
    let text = run(&["suggest", path(&log)]).stdout;
    let ended = run(&["suggest", path(&log), "--json"]);
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(report["policy"].as_str(), Some(&*text));
    assert_eq!((&report["sample"]["one_of"], &report["peaks"]), (&Value::from(1), &Value::from("exact")));
    let login = &report["routes"][1];
    assert_eq!((&login["path"], &login["may_touch"]), (&Value::from("/login"), &Value::from(2)));
    let requests: u64 = report["routes"]
        .as_array()
        .expect("routes")
        .iter()
        .filter_map(|route| route["requests"].as_u64())
        .sum();
    assert_eq!(report["requests"].as_u64(), Some(requests));
}

/// Names that mean something in YAML, in templates, or to a terminal.
#[test]
fn hostile_paths_and_keys_make_a_valid_policy() {
    let mut log = String::new();
    let targets = [
        "/a:%20b",
        "/{x}",
        "/%7Bid%7D",
        "/'",
        "/\\x22",
        "/- a",
        "/*",
        "/&a",
        "/\u{1b}[31m",
        "/#",
        "/é",
        "/yes",
        "/~",
        "/..",
        "//",
        "*",
    ];
    for (n, target) in targets.iter().cycle().take(300).enumerate() {
        log.push_str(&line(n as u64 * 40, &format!("192.0.2.{}", n % 9), target, 200));
    }
    for n in 0..20_000_u64 {
        let _ = write!(
            log,
            "{}",
            line(13_000 + n, "192.0.2.77", &format!("/p{n}x/q{n}x/{}", "y".repeat(300)), 200)
        );
    }
    let log = file(&log);
    let ended = run(&["suggest", path(&log), "--routes", "1000"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.chars().all(|c| c == '\n' || !c.is_control()), "{}", ended.stdout);
    let validated = run(&["validate", path(&file(&ended.stdout))]);
    assert_eq!(validated.code, Some(0), "{validated:?}\n{}", ended.stdout);
}

#[test]
fn limited_requests_are_left_out_with_a_warning() {
    let mut log: String = (0..100).map(|n| line(n * 2_000, "192.0.2.1", "/a", 200)).collect();
    let calm = run(&["suggest", path(&file(&log)), "--exact"]);
    assert_eq!(calm.stderr, "");
    log.extend((0..50).map(|n| line(200_000 + n, "192.0.2.1", "/a", 429)));
    let limited = run(&["suggest", path(&file(&log)), "--exact"]);
    assert!(limited.stderr.contains("50 of 150 requests had been limited (429)"), "{}", limited.stderr);
    let limits = |text: &str| text.lines().find(|line| line.contains("limits:")).map(str::to_owned);
    assert_eq!(limits(&limited.stdout), limits(&calm.stdout));
}

#[test]
fn what_the_log_does_not_have_is_refused_with_a_remedy() {
    let timed = file(&line(0, "192.0.2.1", "/a", 200));
    let whole =
        file("192.0.2.1 - - [15/Nov/2026:12:00:00 +0000] \"GET /a HTTP/1.1\" 200 512 \"-\" \"curl/8\"\n");
    let rows: [(&[&str], &str); 5] = [
        (&[path(&whole), "--window", "100ms"], "has whole seconds"),
        (&[path(&timed), "--window", "0"], "shortest window"),
        (&[path(&timed), "--touch", "100%"], "99.99%"),
        (&[path(&timed), "--headroom", "20"], "20%"),
        (&["no-such-file.log"], "no-such-file.log"),
    ];
    for (arguments, expected) in rows {
        let ended = run(&[&["suggest"], arguments].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        // Long lines are wrapped.
        let text = ended.stderr.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        assert!(text.contains(expected), "{expected}: {}", ended.stderr);
    }
    let ended = run(&["suggest", path(&whole)]);
    assert!(ended.stdout.contains("upper bounds"), "{}", ended.stdout);
}

/// What a log does not say of starts is in the policy and in JSON.
#[test]
fn remarks_say_what_the_log_does_not_say_of_starts() {
    let combined = |second: u64| {
        format!(
            "192.0.2.1 - - [15/Nov/2026:12:00:{second:02} +0000] \"GET /a HTTP/1.1\" 200 512 \"-\" \"curl/8\"\n"
        )
    };
    let whole: String = (0..50).map(combined).collect();
    let ends: String = (0..50)
        .map(|n| format!("{{\"end\":{}.{n:03},\"path\":\"/a\",\"ip\":\"192.0.2.1\"}}\n", START_S + n))
        .collect();
    // The last line is behind by more than the second line, which has left by then.
    let late: String = [0, 100_000, 200_000, 1].map(|at_ms| line(at_ms, "192.0.2.1", "/a", 200)).concat();
    let rows: [(&str, &[&str], &str, &[&str]); 5] = [
        (&whole, &[], "whole_second_ends", &["nginx is assumed", "for the ends of requests"]),
        (&whole, &["--server", "nginx"], "whole_second_ends", &["for the ends of requests"]),
        (
            &whole,
            &["--server", "apache"],
            "whole_seconds",
            &["The log has whole seconds: peaks are upper bounds"],
        ),
        (&ends, &[], "ends", &["requests count at their ends"]),
        (
            &late,
            &["--reorder", "1s"],
            "exact",
            &["1 lines came later than --reorder allows, by at most 100.0 s"],
        ),
    ];
    for (log, arguments, precision, expected) in rows {
        let log = file(log);
        let suggest = |more: &[&str]| run(&[&["suggest", path(&log)], arguments, more].concat());
        let (policy, json) = (suggest(&[]).stdout, suggest(&["--json"]));
        let report: Value = serde_json::from_str(&json.stdout).unwrap_or_else(|_| panic!("{json:?}"));
        assert_eq!(report["precision"], precision, "{arguments:?}");
        let remarks = report["remarks"].as_array().expect("remarks");
        assert_eq!(remarks.len(), expected.len(), "{remarks:?}");
        let comments = policy.replace("\n# ", " ");
        for (remark, expected) in remarks.iter().filter_map(Value::as_str).zip(expected) {
            assert!(remark.contains(expected) && comments.contains(remark), "{remark}\n{policy}");
        }
    }
    let timed = file(&line(0, "192.0.2.1", "/a", 200));
    let exact: Value = serde_json::from_str(&run(&["suggest", path(&timed), "--json"]).stdout).expect("JSON");
    assert_eq!((&exact["precision"], &exact["remarks"]), (&"exact".into(), &Value::Array(Vec::new())));
}

/// Beyond its memory, only a sample of the clients is counted, and the policy says so.
#[test]
fn clients_beyond_the_bound_on_memory_are_sampled() {
    let address = |n: u64| format!("10.{}.{}.{}", n / 62_500, n / 250 % 250, n % 250);
    let log: String = (0..90_000).map(|n| line(n * 6, &address(n), "/a", 200)).collect();
    let log = file(&log);
    let sampled = run(&["suggest", path(&log), "--max-memory", "16MiB", "--json"]);
    let report: Value = serde_json::from_str(&sampled.stdout).unwrap_or_else(|_| panic!("{sampled:?}"));
    let one_of = report["sample"]["one_of"].as_u64().expect("a number");
    assert!(one_of > 1, "{one_of}");
    let policy = report["policy"].as_str().expect("a policy");
    assert!(policy.contains(&format!("Memory was full: 1 of {one_of} subjects were counted.")), "{policy}");
    assert!(policy.contains("with a probability of 95 %"), "{policy}");
    let clients = report["routes"][0]["subjects"].as_u64().expect("a number");
    assert!((90_000 / one_of).abs_diff(clients) < 90_000 / one_of / 4, "{clients}, 1 of {one_of}");
    let ended = run(&["suggest", path(&log), "--max-memory", "15MiB"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("16MiB"), "{ended:?}");
}

#[test]
fn a_log_may_come_from_standard_input() {
    let (log, folder) = (log_of_the_page(), tempfile::tempdir().expect("a folder"));
    write(folder.path(), "access.log", &log);
    let input = fs::File::open(folder.path().join("access.log")).expect("a log");
    let output = command(&["suggest", "-", "--json"]).stdin(input).output().expect("slidegate");
    let piped: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let read: Value =
        serde_json::from_str(&run(&["suggest", path(&file(&log)), "--json"]).stdout).expect("JSON");
    assert_eq!(piped["routes"], read["routes"]);
}

/// Requests without a key do not become one client.
#[test]
fn requests_without_a_key_are_not_counted() {
    let mut csv = "time,path,user\n".to_owned();
    for n in 0..50 {
        let user = if n % 2 == 0 { "" } else { "alice" };
        let _ = writeln!(csv, "{}.{:03},/a,{user}", START_S + n / 10, n % 10 * 100);
    }
    let ended = run(&["suggest", path(&file(&csv)), "--key", "user", "--exact"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains("missing: skip") && ended.stdout.contains("25 requests have no key"),
        "{}",
        ended.stdout
    );
}

/// A policy that is enforced touches no more clients than was promised.
#[test]
fn an_exact_suggestion_touches_as_few_as_promised() {
    let log = file(&log_of_the_page());
    let suggested = run(&["suggest", path(&log), "--exact", "--json"]);
    let suggested: Value = serde_json::from_str(&suggested.stdout).expect("JSON");
    let policy = file(suggested["policy"].as_str().expect("a policy"));
    let replayed = run(&["replay", path(&log), "--policy", path(&policy), "--as-enforced", "--json"]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    let replayed: Value = serde_json::from_str(&replayed.stdout).expect("JSON");
    let routes = suggested["routes"].as_array().expect("routes");
    for (route, rule) in routes.iter().zip(replayed["rules"].as_array().expect("rules")) {
        let touched = rule["touched"]["high"].as_u64().unwrap_or_else(|| panic!("{rule}"));
        assert!(touched > 0 && Some(touched) <= route["may_touch"].as_u64(), "{touched}: {route}");
    }
}

#[test]
fn the_help_has_examples_and_exit_codes() {
    for name in ["suggest", "simulate"] {
        let help =
            String::from_utf8(command(&[name, "--help"]).output().expect("help").stdout).expect("UTF-8");
        assert!(help.contains("Example:") && help.contains("Exit codes:"), "{help}");
    }
}
