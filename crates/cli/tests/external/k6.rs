//! The load test in contrib/k6, run by k6 against the real program.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use slidegate_testkit::program::{ServerProcess, file, path};

/// Requests of a run, of so many keys.
const ITERATIONS: u64 = 3_000;
const KEYS: u64 = 500;

/// Ten an hour for each address: whoever comes more often is denied.
const POLICY: &str = "
version: 1
rules:
  - { name: login, match: { method: POST, path: /login }, key: [ip], limits: [10/h] }
";

/// Counters of a run against a new server, and k6's exit code.
fn load(seed: &str, exponent: &str) -> HashMap<String, u64> {
    let k6 = std::env::var_os("SLIDEGATE_K6")
        .expect("SLIDEGATE_K6 is not set: scripts/test installs it (need_k6 in scripts/lib.sh)");
    let policy = file(POLICY);
    let server = ServerProcess::start(&[path(&policy)]);
    let directory = tempfile::tempdir().expect("a directory");
    let summary = directory.path().join("summary.json");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/k6/zipf.js");
    let output = Command::new(k6)
        .args(["run", "--quiet", "--no-usage-report", "--summary-export"])
        .arg(&summary)
        .arg(&script)
        .env("SERVER", server.url())
        .env("ITERATIONS", ITERATIONS.to_string())
        .env("KEYS", KEYS.to_string())
        .env("SEED", seed)
        .env("EXPONENT", exponent)
        .output()
        .expect("k6 can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: Value =
        serde_json::from_str(&std::fs::read_to_string(&summary).expect("a summary")).expect("JSON");
    let names = ["slidegate_allowed", "slidegate_denied", "slidegate_first_key"];
    let count = |name: &str| summary["metrics"][name]["count"].as_u64().unwrap_or(0);
    names.map(|name| (name.to_owned(), count(name))).into()
}

/// The same seed gives the same keys, and so the same number of denials; the most frequent key comes as often as it should.
#[test]
fn a_load_with_zipf_keys_is_the_same_each_time() {
    let run = load("1", "1.1");
    assert_eq!(run["slidegate_allowed"] + run["slidegate_denied"], ITERATIONS);
    assert!(run["slidegate_denied"] > ITERATIONS / 4, "{run:?}");
    let weights: f64 = (1..=KEYS).map(|rank| (rank as f64).powf(-1.1)).sum();
    let (first, expected) = (run["slidegate_first_key"] as f64, ITERATIONS as f64 / weights);
    // The seed is fixed: four standard deviations.
    assert!(
        (first - expected).abs() < 4.0 * expected.sqrt(),
        "{first} requests of the first key, not {expected}"
    );
    assert_eq!(load("1", "1.1"), run);
    assert_ne!(load("2", "1.1"), run);
    let even = load("1", "0");
    assert!(even["slidegate_denied"] < run["slidegate_denied"] / 4, "{even:?} beside {run:?}");
}
