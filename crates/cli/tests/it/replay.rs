//! `slidegate replay`: reports, comparisons, conditions, and what it refuses.

mod hostile_logs;
mod live_server;
mod models;
mod reading;

use serde_json::Value;
use slidegate_testkit::program::{Ended, blocks, command, file, hold_without_server, path, run};
use tempfile::NamedTempFile;

const PAGE: &str = include_str!("../../../../docs/replay.md");

const LOGIN: &str = "
version: 1
server: { http: 127.0.0.1:8080 }
rules:
  - { name: login, match: { method: POST, path: /login }, key: [ip], limits: [3/min] }
  - { name: all, limits: [100/s], mode: observe }
";

/// Log of JSON lines: a start in milliseconds, an address, and more members.
fn log(lines: &[(u64, &str, &str)]) -> NamedTempFile {
    let line = |(start_ms, ip, more): &(u64, &str, &str)| {
        let start_ms = 1_763_199_960_000 + start_ms;
        format!(r#"{{"start_ms":{start_ms},"status":200,"method":"POST","path":"/login","ip":"{ip}"{more}}}"#)
    };
    file(&lines.iter().map(|one| line(one) + "\n").collect::<String>())
}

/// Five log-ins of one address within four seconds, and one of another.
fn five_logins() -> NamedTempFile {
    let line = |at_ms| (at_ms, "203.0.113.7", "");
    log(&[line(0), line(1_000), line(2_000), line(3_000), line(4_000), (5_000, "203.0.113.8", "")])
}

fn replay(log: &NamedTempFile, policy: &str, more: &[&str]) -> Ended {
    let policy = file(policy);
    run(&[&["replay", path(log), "--policy", path(&policy)], more].concat())
}

fn json(log: &NamedTempFile, policy: &str, more: &[&str]) -> Value {
    let ended = replay(log, policy, &[more, &["--json"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).expect("JSON")
}

#[test]
fn the_report_says_who_is_limited() {
    let (log, policy) = (five_logins(), file(LOGIN));
    let ended = run(&["replay", path(&log), "--policy", path(&policy)]);
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:?}");
    let report = ended.stdout.replace(path(&log), "LOG");
    for expected in [
        "replay  LOG   6 lines   15 Nov 09:46 – 09:46   ",
        "  read as JSON lines: time is the START, milliseconds, no duration\n",
        "rule           limit  requests  denied       subjects touched  peak/quota\n",
        "login          3/min         6       2  33%            1 of 2         5/3  ",
        "all (observe)  100/s         6       0   0%                 0       1/100  ",
        "203.0.113.7  login       2   5  15 Nov 09:46:03  ",
    ] {
        assert!(report.contains(expected), "{expected}\n{report}");
    }
}

#[test]
fn json_has_the_numbers() {
    let report = json(&five_logins(), LOGIN, &[]);
    let login = &report["rules"][0];
    assert_eq!(login["requests"], 6);
    assert_eq!(login["denied"], 2);
    assert_eq!(login["subjects"], 2);
    assert_eq!(login["touched"]["high"], 1);
    assert_eq!(login["limits"][0]["peak"]["high"], 5);
    let denied = &report["most_denied"][0];
    assert_eq!(denied["key"]["ip"], "203.0.113.7");
    assert_eq!(denied["first_denial_ms"], 1_763_199_963_000_u64);
    assert_eq!(report["requests"]["decided"], 6);
    assert_eq!(report["precision"], "exact");
}

#[test]
fn conditions_decide_the_exit_code() {
    let log = five_logins();
    let rows = [
        ("login.denied > 10%", 1),
        ("login.denied > 34%", 0),
        ("login.denied >= 2", 1),
        ("denied < 2", 0),
        ("login.touched > 50%", 0),
        ("login.touched >= 50%", 1),
        ("all.would_deny > 0", 0),
        ("login.denied", 2),
        ("logn.denied > 0", 2),
        ("newly_denied > 0", 2),
    ];
    for (condition, code) in rows {
        let ended = replay(&log, LOGIN, &["--fail-if", condition]);
        assert_eq!(ended.code, Some(code), "{condition}: {ended:?}");
        if code == 1 {
            assert!(ended.stderr.starts_with(&format!("error: {condition} (it is ")), "{}", ended.stderr);
        }
    }
    let both = replay(&log, LOGIN, &["--fail-if", "denied > 100", "--fail-if", "login.denied > 1"]);
    assert_eq!(both.code, Some(1), "{both:?}");
}

#[test]
fn two_policies_are_compared() {
    let (log, old) = (five_logins(), file(&LOGIN.replace("3/min", "4/min")));
    let stricter = json(&log, LOGIN, &["--against", path(&old), "--fail-if", "newly_denied > 1"]);
    let against = &stricter["against"];
    assert_eq!((&against["newly_denied"], &against["newly_allowed"]), (&1.into(), &0.into()));
    assert_eq!(against["newly_denied_by"][0]["rule"], "login");
    assert_eq!(against["newly_denied_subjects"][0]["key"]["ip"], "203.0.113.7");
    let looser = json(&log, &LOGIN.replace("3/min", "5/min"), &["--against", path(&old)]);
    let against = &looser["against"];
    assert_eq!((&against["newly_denied"], &against["newly_allowed"]), (&0.into(), &1.into()));
}

/// A burst on both sides of a window's edge: what each algorithm admits within a minute.
#[test]
fn algorithms_are_compared() {
    let burst = |from_ms: u64| (0..12).map(move |n| (from_ms + n, "203.0.113.7", ""));
    // The first minute ends after 60 s: 1,763,199,960 s is a whole minute.
    let log = log(&burst(59_000).chain(burst(60_500)).collect::<Vec<_>>());
    let report = json(&log, &LOGIN.replace("3/min", "10/min"), &["--algorithms"]);
    let most = |index: usize| {
        let algorithm = &report["algorithms"][index];
        (algorithm["algorithm"].as_str().expect("a name"), algorithm["limits"][0]["most_admitted"].as_u64())
    };
    assert_eq!(
        [0, 1, 2, 3].map(most),
        [("log", Some(10)), ("counter", Some(10)), ("fixed", Some(20)), ("gcra", Some(10))]
    );
    assert_eq!(report["algorithms"][2]["limits"][0]["denied"], 4);
}

#[test]
fn rules_in_observe_mode_would_deny() {
    let (log, observed) = (five_logins(), LOGIN.replace("limits: [3/min]", "limits: [3/min], mode: observe"));
    let report = json(&log, &observed, &[]);
    assert_eq!(report["requests"]["denied"], 0);
    assert_eq!(report["requests"]["would_deny"], 2);
    assert_eq!(report["rules"][0]["would_deny"], 2);
    let enforced = json(&log, &observed, &["--as-enforced"]);
    assert_eq!(enforced["requests"]["denied"], 2);
}

#[test]
fn requests_that_were_limited_are_counted_and_may_be_left_out() {
    let lines: Vec<(u64, &str, &str)> = (0..5).map(|n| (n, "203.0.113.7", "")).collect();
    let text = std::fs::read_to_string(log(&lines).path()).expect("a log");
    let log = file(&text.replacen("\"status\":200", "\"status\":429", 2));
    let decided = json(&log, LOGIN, &[]);
    assert_eq!(
        (&decided["requests"]["limited_in_log"], &decided["requests"]["decided"]),
        (&2.into(), &5.into())
    );
    let skipped = json(&log, LOGIN, &["--limited", "skip"]);
    assert_eq!((&skipped["requests"]["skipped"], &skipped["requests"]["decided"]), (&2.into(), &3.into()));
    let report = replay(&log, LOGIN, &[]).stdout;
    assert!(report.contains("2 requests (40%) were limited already (429)"), "{report}");
}

#[test]
fn a_key_that_the_log_does_not_have_is_an_error() {
    let policy = "version: 1\nrules: [{ name: search, key: [api_key], limits: [3/min] }]";
    let log = five_logins();
    let ended = replay(&log, policy, &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    for expected in ["rule `search`", "`api_key`", "api_key=FIELD"] {
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
    let keyed =
        (0..5).map(|n| (n, "203.0.113.7", if n < 4 { r#","k":{"x":"one"}"# } else { r#","k":{"x":"two"}"# }));
    let report =
        json(&super::replay::log(&keyed.collect::<Vec<_>>()), policy, &["--attribute", "api_key=k.x"]);
    assert_eq!((&report["rules"][0]["denied"], &report["rules"][0]["subjects"]), (&1.into(), &2.into()));
}

const COMBINED: &str = r#"203.0.113.7 - - [15/Nov/2025:09:46:00 +0000] "POST /login HTTP/1.1" 200 12 "-" "test"
"#;

#[test]
fn whole_seconds_give_ranges_and_refuse_shorter_windows() {
    // Four of one second and two of the next: within a second there were four to six.
    let log = file(&format!("{}{}", COMBINED.repeat(4), COMBINED.replace("46:00", "46:01").repeat(2)));
    let policy = LOGIN.replace("3/min", "5/s");
    let report = json(&log, &policy, &["--server", "apache"]);
    let limit = &report["rules"][0]["limits"][0];
    assert_eq!(report["precision"], "whole_seconds");
    assert_eq!((&limit["peak"]["low"], &limit["peak"]["high"]), (&4.into(), &6.into()));
    assert_eq!((&limit["touched"]["low"], &limit["touched"]["high"]), (&0.into(), &1.into()));
    let ends = json(&log, &policy, &[]);
    assert_eq!(ends["precision"], "whole_second_ends");
    // A fixed window of whole seconds is known exactly. A meter may or may not have drained.
    let limit = |algorithm: &str| {
        let limit = format!("{{ quota: 3, window: 1s, algorithm: {algorithm} }}");
        json(&log, &LOGIN.replace("3/min", &limit), &["--server", "apache"])["rules"][0]["touched"].take()
    };
    assert_eq!(limit("fixed"), serde_json::json!({ "low": 1, "high": 1 }));
    assert_eq!(limit("counter"), serde_json::json!({ "low": 1, "high": 1 }));
    assert_eq!(limit("gcra, burst: 3"), serde_json::json!({ "low": 0, "high": 1 }));
    let ended = replay(&log, &LOGIN.replace("3/min", "5/500ms"), &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    for expected in ["5/500ms", "rule `login`", "--formats"] {
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
}

/// A quota above 128 counts in slots of a 128th of its window, others in milliseconds.
#[test]
fn peaks_are_those_of_the_quota_that_they_are_compared_with() {
    let burst = |from_ms: u64| (0..70).map(move |_| (from_ms, "203.0.113.7", ""));
    // A minute apart: in one window of slots, and in two of milliseconds.
    let log = log(&burst(0).chain(burst(60_000)).collect::<Vec<_>>());
    let limit = |quota: &str| json(&log, &LOGIN.replace("3/min", quota), &[])["rules"][0]["limits"][0].take();
    let (small, large) = (limit("100/min"), limit("139/min"));
    assert_eq!((&small["peak"]["high"], &small["denied"]), (&70.into(), &0.into()));
    assert_eq!((&large["peak"]["high"], &large["denied"]), (&140.into(), &1.into()));
    let peaks = serde_json::json!([{ "peak": 70, "coarse_peak": 140, "subjects": 1 }]);
    assert_eq!((&small["peaks"], &large["peaks"]), (&peaks, &peaks));
}

#[test]
fn in_flight_limits_need_durations() {
    let policy = "version: 1\nrules: [{ name: jobs, key: [ip], limits: [{ in_flight: 2, hold: 30s }] }]";
    let without = json(&five_logins(), policy, &[]);
    assert_eq!(without["requests"]["denied"], 0);
    assert_eq!(without["rules"][0]["limits"], Value::Array(Vec::new()));
    let note = without["notes"][0].as_str().expect("a note");
    assert!(note.contains("rule `jobs`") && note.contains("no durations"), "{note}");
    // A second each, every 400 ms: the third overlaps two, the fourth comes when the first has
    // ended.
    let lines: Vec<_> = (0..4).map(|n| (400 * n, "203.0.113.7", r#","duration_ms":1000"#)).collect();
    let report = json(&log(&lines), policy, &[]);
    assert_eq!(
        (&report["requests"]["denied"], &report["rules"][0]["limits"][0]["peak"]["high"]),
        (&1.into(), &2.into())
    );
}

#[test]
fn verdicts_are_json_lines_or_csv() {
    let (log, folder) = (five_logins(), tempfile::tempdir().expect("a folder"));
    for (name, expected) in [
        ("verdicts.csv", "LOG,4,1763199963000,denied,login-3/min,,0,57000\n"),
        (
            "verdicts.json",
            r#"{"file":"LOG","line":4,"at_ms":1763199963000,"verdict":"denied","refused_by":["login-3/min"],"would_refuse":[],"remaining":0,"retry_after_ms":57000}"#,
        ),
    ] {
        let verdicts = folder.path().join(name);
        let verdicts = verdicts.to_str().expect("a path");
        let ended = replay(&log, LOGIN, &["--verdicts", verdicts]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let text = std::fs::read_to_string(verdicts).expect("verdicts").replace(path(&log), "LOG");
        assert!(text.contains(expected), "{text}");
        assert_eq!(text.lines().filter(|line| line.contains("LOG")).count(), 6, "{text}");
    }
    let ended = replay(&log, LOGIN, &["--verdicts", "/nonexistent/verdicts.csv"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("cannot write /nonexistent/verdicts.csv"), "{}", ended.stderr);
}

#[test]
fn what_cannot_be_replayed_is_2() {
    let log = five_logins();
    let rows = [
        (replay(&log, "version: 1\nrules: [{ name: a, limits: [1/moon] }]", &[]), "invalid limit"),
        (run(&["replay", "/nonexistent.log", "--policy", path(&file(LOGIN))]), "/nonexistent.log"),
        (run(&["replay", path(&log), "--policy", "/nonexistent.yaml"]), "/nonexistent.yaml"),
        (run(&["replay", path(&log)]), "--policy"),
        (run(&["replay", "-", "--policy", "-"]), "standard input can be read only once"),
        (replay(&file("what is this\n"), LOGIN, &[]), "unknown format"),
    ];
    for (ended, expected) in rows {
        assert_eq!(ended.code, Some(2), "{expected}: {ended:?}");
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
    }
}

#[test]
fn formats_are_explained() {
    let ended = run(&["replay", "--formats"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for expected in ["nginx: ", "$msec $request_time", "Apache: ", "HAProxy: "] {
        assert!(ended.stdout.contains(expected), "{}", ended.stdout);
    }
}

/// The example of the page has the true numbers.
#[test]
fn commands_of_the_page_print_what_it_shows() {
    let folder = super::tuning::folder();
    let [policy] = blocks(PAGE, "yaml")[..] else { panic!("one policy") };
    std::fs::write(folder.path().join("policy.yaml"), policy).expect("a policy");
    hold_without_server(PAGE, folder.path());
}

/// Rules that observe are enforced in both policies, so that only their limits are compared.
#[test]
fn both_policies_are_compared_as_enforced() {
    let observed =
        |limit: &str| LOGIN.replace("limits: [3/min]", &format!("limits: [{limit}], mode: observe"));
    let (log, old) = (five_logins(), file(&observed("4/min")));
    let report = json(&log, &observed("3/min"), &["--against", path(&old), "--as-enforced"]);
    let against = &report["against"];
    assert_eq!((&report["requests"]["denied"], &against["requests"]["denied"]), (&2.into(), &1.into()));
    assert_eq!((&against["newly_denied"], &against["newly_allowed"]), (&1.into(), &0.into()));
}

/// Names of files are bytes, also on the command line that the report repeats.
#[cfg(unix)]
#[test]
fn a_name_that_is_not_utf_8_is_replaced_in_the_report() {
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().expect("a folder");
    let name = std::ffi::OsStr::from_bytes(b"log-\xff.json");
    std::fs::copy(five_logins().path(), folder.path().join(name)).expect("a log");
    std::fs::write(folder.path().join("policy.yaml"), LOGIN).expect("a policy");
    let mut command = command(&["replay", "--policy", "policy.yaml", "--html", "report.html"]);
    let ended: Ended = command.arg(name).current_dir(folder.path()).output().expect("slidegate").into();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = std::fs::read_to_string(folder.path().join("report.html")).expect("a report");
    let repeat = "slidegate replay --policy policy.yaml --html report.html &#39;log-\u{fffd}.json&#39;";
    assert!(report.contains(repeat), "{report}");
}

/// The values of an override may be the keys of clients.
#[test]
fn values_of_overrides_are_masked_on_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().join("report.html");
    let at = at.to_str().expect("a path");
    let limits = "limits: [3/min], overrides: [{ when: { ip: 203.0.113.8 }, limits: [9/min] }]";
    let policy = LOGIN.replace("limits: [3/min]", limits);
    let page = |more: &[&str]| {
        let ended = replay(&five_logins(), &policy, &[&["--html", at], more].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        std::fs::read_to_string(at).expect("a report")
    };
    let masked = page(&[]);
    assert!(!masked.contains("203.0.113.8"), "{masked}");
    assert!(masked.contains("9/min where ip is 203.0.113.0/24 #"), "{masked}");
    assert!(page(&["--subjects", "plain"]).contains("9/min where ip is 203.0.113.8"));
}

/// Text of a report or an error, whose lines were wrapped.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

/// A report of nothing would pass every condition.
#[test]
fn a_log_without_a_readable_line_is_an_error() {
    let (caddy, torn) = (file("no JSON\nno JSON either\n"), file("\u{1f}"));
    std::fs::write(torn.path(), [0x1f, 0x8b, 8, 0, 0]).expect("a damaged file");
    let rows: [(&NamedTempFile, &[&str], &str); 2] = [
        (
            &caddy,
            &["--format", "caddy"],
            "can be read as Caddy JSON: line 1 not JSON; name the format with --format",
        ),
        (
            &torn,
            &[],
            "can be read: line 1 the compressed data is damaged or ends here; the rest is lost; copy the file again",
        ),
    ];
    for (log, more, expected) in rows {
        let ended = replay(log, LOGIN, &[more, &["--fail-if", "denied > 0"]].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
        assert!(unwrapped(&ended.stderr).contains(expected), "{expected}: {}", ended.stderr);
        let ended = run(&[&["suggest", path(log)], more].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
        assert!(unwrapped(&ended.stderr).contains(expected), "{expected}: {}", ended.stderr);
    }
    assert_eq!(replay(&file(""), LOGIN, &[]).code, Some(0), "an empty log is no error");
}

/// Beside other logs, one that cannot be read is a remark, and says nothing of the others.
#[test]
fn a_log_without_a_readable_line_beside_others_is_a_remark() {
    let (good, torn) = (five_logins(), file(""));
    std::fs::write(torn.path(), [0x1f, 0x8b, 8, 0, 0]).expect("a damaged file");
    let policy = file(LOGIN);
    let arguments = ["replay", path(&good), path(&torn), "--policy", path(&policy)];
    let report = run(&arguments).stdout;
    let name = path(&torn);
    for expected in [
        format!("! no line of {name} can be read: line 1 the compressed data is damaged"),
        format!("unread 1 (14%): {name} line 1 the compressed data is damaged"),
    ] {
        assert!(report.contains(&expected), "{expected}\n{report}");
    }
    assert!(!report.contains("nginx"), "{report}");
    let report = run(&[&arguments[..], &["--json"]].concat()).stdout;
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!((&report["precision"], &report["requests"]["decided"]), (&"exact".into(), &6.into()));
}

/// What to log instead is there to be copied, line by line.
#[test]
fn whole_seconds_come_with_the_lines_to_log() {
    let (log, policy) = (file(COMBINED), file(&LOGIN.replace("3/min", "5/500ms")));
    let short = run(&["replay", path(&log), "--policy", path(&policy)]);
    let suggested = run(&["suggest", path(&log), "--window", "100ms"]);
    for ended in [short, suggested] {
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
        assert!(unwrapped(&ended.stderr).contains("In nginx, log $msec $request_time:"), "{}", ended.stderr);
        for line in [
            "log_format slidegate\n",
            "    '$remote_addr - $remote_user [$time_local] \"$request\" $status '\n",
            "    '\"$http_x_forwarded_for\" host=\"$host\" $msec $request_time';\n",
        ] {
            assert!(ended.stderr.contains(line), "{line}: {}", ended.stderr);
        }
    }
    let report = replay(&log, LOGIN, &[]).stdout;
    assert!(report.contains("log $msec $request_time to sharpen them (see --formats)"), "{report}");
    let apache = replay(&log, LOGIN, &["--server", "apache"]).stdout;
    assert!(apache.contains("log %{begin:msec}t %D to sharpen them"), "{apache}");
    let in_flight = LOGIN.replace("limits: [3/min]", "limits: [3/min, { in_flight: 2, hold: 30s }]");
    let report = replay(&log, &in_flight, &[]).stdout;
    assert!(report.contains("the log has no durations; log $msec $request_time"), "{report}");
    let policy = run(&["suggest", path(&log)]).stdout;
    assert!(policy.replace("\n# ", " ").contains("Log $msec $request_time to sharpen them"), "{policy}");
}
