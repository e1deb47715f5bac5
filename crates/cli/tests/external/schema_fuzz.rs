//! The live server against its own OpenAPI document: schemathesis sends what the document allows
//! and what it does not.

use slidegate_testkit::program::{ServerProcess, file, path, python};

/// Rules that can give every answer: 200, 429, 403, permits, places in flight, what is only
/// watched.
const POLICY: &str = r#"
version: 1
server: {max_wait: 50ms}
rules:
  - {name: login, match: {method: POST, path: /login}, key: [ip], limits: [5/min], refundable: true}
  - {name: everyone, key: ["user|ip"], limits: [1000/s, {quota: 100000, window: 1min, algorithm: counter}]}
  - {name: uploads, match: {path: "/files/{*rest}"}, limits: [{in_flight: 5, hold: 1s}]}
  - {name: strict, match: {kind: strict}, key: [user], limits: [1/s], missing: deny, deny: [{user: mallory}]}
  - {name: watched, key: [ip], limits: [1/min], mode: observe}
  - {name: rlaas, match: {path: /check}, key: [userId], limits: [5/min]}
"#;

#[test]
fn no_answer_is_missing_from_the_document() {
    let policy = file(POLICY);
    let server = ServerProcess::start(&[path(&policy)]);
    let directory = tempfile::tempdir().expect("a directory");
    let settings = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/external/schema_fuzz.toml");
    // One worker: Python's own parser is not safe with several, in some versions.
    let output = python()
        .args(["-m", "schemathesis.cli", "--config-file", settings])
        .args(["run", &format!("{}/openapi.json", server.url())])
        .args(["--seed", "1", "--max-examples", "40", "--workers", "1"])
        .args(["--request-timeout", "10", "--continue-on-failure", "--no-color"])
        // It leaves files where it runs.
        .current_dir(directory.path())
        .output()
        .expect("Python");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    // That it ran, and did not only start.
    let generated = |line: &str| line.trim().split_once(" generated, ")?.0.parse::<usize>().ok();
    let count = stdout.lines().find_map(generated).unwrap_or_default();
    assert!(count >= 1_000, "{count} requests: {stdout}");
}
