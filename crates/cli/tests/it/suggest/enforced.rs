//! Suggestions against replays that enforce them, by the commands, over generated logs with
//! milliseconds. `SLIDEGATE_SUGGEST_LOGS` sets their number.

use std::fmt::Write;

use serde_json::Value;
use slidegate_testkit::cases::{Rng, number};
use slidegate_testkit::program::{file, path, run};

/// Logs, in the tests.
const LOGS: u64 = 25;
const START_MS: u64 = 1_794_744_000_000;

/// Log of clients of which the first ones have most of the requests.
fn log(rng: &Rng) -> String {
    let (clients, is_busy) = (rng.between(1, 60), rng.one_in(8));
    let paths = rng.pick(&[&["/login"][..], &["/login", "/users/1", "/users/2", "/users/me"]]);
    let (mut now_ms, mut text) = (START_MS, String::new());
    for _ in 0..if is_busy { rng.between(300, 900) } else { rng.between(1, 300) } {
        now_ms += if rng.one_in(4) { rng.below(400) } else { rng.below(20) };
        let client = if is_busy { rng.below(2) } else { rng.below(rng.between(1, clients)) };
        let path = rng.pick(paths);
        let _ = writeln!(
            text,
            r#"{{"start_ms":{now_ms},"duration_ms":{},"status":200,"method":"GET","path":"{path}","ip":"192.0.2.{client}"}}"#,
            rng.below(90)
        );
    }
    text
}

/// Most subjects that each rule touches, if it is enforced.
fn touched(log: &str, policy: &str) -> Vec<u64> {
    let policy = file(policy);
    let replayed = run(&["replay", log, "--policy", path(&policy), "--as-enforced", "--json"]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    let replayed: Value = serde_json::from_str(&replayed.stdout).expect("JSON");
    let rules = replayed["rules"].as_array().expect("rules").iter();
    rules.map(|rule| rule["touched"]["high"].as_u64().expect("a number")).collect()
}

/// The policy with every quota less by one; `None` if one would be nothing.
fn tighter(policy: &str) -> Option<String> {
    let line = |line: &str| {
        let Some((before, quota)) = line.split_once("limits: [") else { return Some(line.to_owned()) };
        let (quota, after) = quota.split_once('/')?;
        let quota = quota.parse::<u64>().ok()?.checked_sub(1).filter(|quota| *quota > 0)?;
        Some(format!("{before}limits: [{quota}/{after}"))
    };
    policy.lines().map(line).collect::<Option<Vec<_>>>().map(|lines| lines.join("\n") + "\n")
}

#[test]
fn an_exact_suggestion_touches_no_more_than_promised_and_a_tighter_one_does() {
    let first = number("SLIDEGATE_SEED").unwrap_or(1);
    let logs = number("SLIDEGATE_SUGGEST_LOGS").unwrap_or(LOGS);
    let (mut rules, mut tightened) = (0, 0);
    for seed in first..first + logs {
        let rng = Rng::new(Rng::new(seed).next());
        let log = file(&log(&rng));
        let (window, touch_ppm) =
            (rng.pick(&["1s", "100ms", "1min", "1s,1min", "1s,5s,1min"]), rng.below(2_000));
        let touch = format!("{}.{:02}%", touch_ppm / 100, touch_ppm % 100);
        let suggested =
            run(&["suggest", path(&log), "--exact", "--json", "--window", window, "--touch", &touch]);
        assert_eq!(suggested.code, Some(0), "{seed}: {suggested:?}");
        let report: Value = serde_json::from_str(&suggested.stdout).expect("JSON");
        let policy = report["policy"].as_str().expect("a policy");
        let routes = report["routes"].as_array().expect("routes");
        let may_touch = |route: &Value| {
            let subjects = route["subjects"].as_u64().expect("a number");
            assert_eq!(route["may_touch"], subjects * touch_ppm / 10_000, "{seed}: {route}");
            subjects * touch_ppm / 10_000
        };
        let found = touched(path(&log), policy);
        assert_eq!(found.len(), routes.len(), "{seed}: {policy}");
        for (route, found) in routes.iter().zip(found) {
            assert!(found <= may_touch(route), "{seed}: {found} of {route}\n{policy}");
            rules += 1;
        }
        let Some(policy) = tighter(policy).filter(|_| !window.contains(',')) else { continue };
        for (route, found) in routes.iter().zip(touched(path(&log), &policy)) {
            assert!(found > may_touch(route), "{seed}: only {found} of {route}\n{policy}");
            tightened += 1;
        }
    }
    assert!(rules >= logs && tightened > 0, "{rules} rules, {tightened} tightened");
    println!(
        "{logs} logs: {rules} rules touch no more clients than promised; {tightened} with a quota less by one do"
    );
}
