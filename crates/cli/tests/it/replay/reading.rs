//! Options of reading, and bounds: time zones, proxies, standard input, memory.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::Value;
use slidegate_testkit::program::{Ended, command, file, path};

use super::{LOGIN, five_logins, json, log};

/// Verdicts of a replay with these arguments, by line.
fn verdicts(log: &str, policy: &str, more: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let verdicts = folder.path().join("verdicts.json");
    let verdicts = verdicts.to_str().expect("a path");
    json(&file(log), policy, &[more, &["--verdicts", verdicts]].concat());
    let text = fs::read_to_string(verdicts).expect("verdicts");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// A replay of what is written to standard input.
fn replay_stdin(log: &[u8], more: &[&str]) -> Ended {
    let policy = file(LOGIN);
    let mut command = command(&[&["replay", "-", "--policy", path(&policy)], more].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("slidegate can be started");
    child.stdin.take().expect("a pipe").write_all(log).expect("it reads");
    child.wait_with_output().expect("it ends").into()
}

/// HAProxy writes the time of its machine, without a zone.
const HAPROXY: &str = "203.0.113.7:41342 [15/Nov/2025:09:46:01.123] web api/s1 0/0/1/298/300 200 612 - - ---- 1/1/0/0/0 0/0 \"POST /login HTTP/1.1\"\n";

#[test]
fn a_time_zone_is_that_of_the_log_and_of_the_report() {
    const UTC_MS: u64 = 1_763_199_961_123;
    const HOUR_MS: u64 = 3_600_000;
    let rows = [
        (&[][..], UTC_MS),
        (&["--timezone", "+02:00"], UTC_MS - 2 * HOUR_MS),
        (&["--timezone", "UTC"], UTC_MS),
    ];
    for (arguments, expected) in rows {
        assert_eq!(verdicts(HAPROXY, LOGIN, arguments)[0]["at_ms"], expected, "{arguments:?}");
        let report = super::replay(&file(HAPROXY), LOGIN, arguments).stdout;
        assert!(report.contains("15 Nov 09:46 – 09:46"), "{arguments:?}: {report}");
    }
    // A log with a zone is read by its own; the report has the other one.
    let report = super::replay(&five_logins(), LOGIN, &["--timezone", "-03:30"]).stdout;
    assert!(report.contains("15 Nov 06:16 – 06:16") && report.contains("15 Nov 06:16:03"), "{report}");
    let ended = super::replay(&five_logins(), LOGIN, &["--timezone", "Nowhere/Land"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("Nowhere/Land"), "{ended:?}");
}

/// Nine requests: of a proxy for three clients, and of a client that claims to be one of them.
fn forwarded() -> String {
    let line = |peer: &str, client: &str| {
        format!(
            "{peer} - - [15/Nov/2025:09:46:01 +0000] \"POST /login HTTP/1.1\" 200 12 \"-\" \"-\" \"{client}\"\n"
        )
    };
    let clients = ["203.0.113.1", "203.0.113.2", "203.0.113.3"];
    let behind = clients.iter().cycle().take(6).map(|client| line("10.1.2.3", client));
    behind.chain((0..3).map(|_| line("198.51.100.9", clients[0]))).collect()
}

#[test]
fn the_client_behind_a_trusted_proxy_is_the_subject() {
    let forwarded = file(&forwarded());
    let subjects = |more: &[&str]| {
        let report = json(&forwarded, LOGIN, more);
        (report["rules"][0]["subjects"].as_u64(), report["requests"]["denied"].as_u64())
    };
    // The proxy is one client with six requests in a minute, of which three are too many.
    assert_eq!(subjects(&[]), (Some(2), Some(3)));
    assert_eq!(subjects(&["--trusted-proxies", "10.0.0.0/8"]), (Some(4), Some(0)));
    let both = ["--trusted-proxies", "10.0.0.0/8", "--trusted-proxies", "198.51.100.0/24"];
    assert_eq!(subjects(&both), (Some(3), Some(2)));
    let ended = super::replay(&forwarded, LOGIN, &["--trusted-proxies", "10.0.0.0/33"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("10.0.0.0/33"), "{ended:?}");
}

#[test]
fn a_log_may_come_from_standard_input() {
    let lines = fs::read(five_logins().path()).expect("a log");
    let numbers = |ended: Ended| {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let mut report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        assert_eq!(report["read"]["files"][0]["name"], "standard input");
        report["rules"].take()
    };
    let expected = json(&five_logins(), LOGIN, &[])["rules"].take();
    assert_eq!(numbers(replay_stdin(&lines, &["--json"])), expected);
    let empty = replay_stdin(b"", &[]);
    assert!(empty.code == Some(0) && empty.stdout.contains("0 lines   no requests"), "{empty:?}");
    // Merged with a file, and refused a second time.
    let (mut both, log) = (vec!["--json"], five_logins());
    both.push(path(&log));
    let merged: Value = serde_json::from_str(&replay_stdin(&lines, &both).stdout).expect("JSON");
    assert_eq!((&merged["read"]["lines"], &merged["requests"]["denied"]), (&12.into(), &7.into()));
    let twice = replay_stdin(&lines, &["-"]);
    assert!(twice.code == Some(2) && twice.stderr.contains("only once"), "{twice:?}");
}

/// One request each of 5,000 clients, and again in the reverse order: 10,000 within a minute.
fn crowd() -> tempfile::NamedTempFile {
    let ips: Vec<String> = (0..5_000).map(|n| format!("10.9.{}.{}", n / 250, n % 250)).collect();
    let requests = ips.iter().chain(ips.iter().rev());
    let lines: Vec<(u64, &str, &str)> = (0..).zip(requests).map(|(at_ms, ip)| (at_ms, &**ip, "")).collect();
    log(&lines)
}

/// A replay says what its memory had no room for; the requests are decided all the same.
#[test]
fn subjects_beyond_the_bound_on_memory_are_decided_and_counted_apart() {
    let (log, policy) = (crowd(), LOGIN.replace("3/min", "1/min"));
    let report = |memory: &str| json(&log, &policy, &["--max-memory", memory]);
    let roomy = report("64MiB");
    assert_eq!(
        (&roomy["rules"][0]["subjects"], &roomy["requests"]["denied"]),
        (&5_000.into(), &5_000.into())
    );
    assert_eq!(roomy["notes"], Value::Array(Vec::new()));
    // Half of 2 MiB, 256 bytes each, shared by two rules.
    let bounded = report("2MiB");
    assert_eq!(
        (&bounded["rules"][0]["subjects"], &bounded["requests"]["denied"]),
        (&2_048.into(), &5_000.into())
    );
    let note = bounded["notes"][0].as_str().expect("a note");
    assert_eq!(
        note,
        "rule `login` has more than 2048 subjects: 5904 requests of further ones are decided, but not among its \
         subjects and peaks; raise --max-memory"
    );
    // Not even the states fit.
    let tight = report("128KiB");
    let notes = tight["notes"].to_string();
    assert!(notes.contains("memory was full") && notes.contains("raise --max-memory"), "{notes}");
    assert_eq!(tight["requests"]["decided"], 10_000);
    for memory in ["", "much", "-1"] {
        let ended = super::replay(&log, &policy, &[&format!("--max-memory={memory}")]);
        assert!(ended.code == Some(2) && ended.stderr.contains("--max-memory"), "{memory}: {ended:?}");
    }
}
