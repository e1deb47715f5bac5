//! The HTML report of a replay in a real browser.
//!
//! The script opens the file, light and dark, at several widths: nothing is loaded, nothing sticks
//! out, and axe finds nothing. What a client chose stays text.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use slidegate_testkit::program::{blocks, command, run};
use tempfile::TempDir;

const POLICY: &str = r#"
version: 1
rules:
  - { name: login, match: { method: POST, path: /login }, key: [ip], limits: [5/min] }
  - { name: search, match: { path: "/search/{*rest}" }, key: [user], limits: [3/s, 20/min], mode: observe }
  - { name: everyone, key: [ip], limits: [1000/min], deny: [{ user: mallory }] }
"#;

/// Names that nobody should have to see as anything but text.
const HOSTILE: [&str; 5] = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "abc\u{202e}dlrow\u{2066}",
    "\u{1b}[31m\u{7}\u{0}]]>--><!--",
];

fn tool(variable: &str) -> OsString {
    std::env::var_os(variable).unwrap_or_else(|| {
        panic!("{variable} is not set: scripts/test installs what it names (need_browser in scripts/lib.sh)")
    })
}

/// Log of ten minutes as JSON lines: a client that tries many logins, hostile names, and ordinary clients.
fn log() -> String {
    let mut lines = String::new();
    let mut add = |at_ms: u64, method: &str, path: &str, ip: &str, user: &str| {
        let at_ms = 1_763_200_000_000 + at_ms;
        let line = json!({ "time": at_ms, "method": method, "path": path, "ip": ip, "user": user });
        writeln!(lines, "{line}").expect("writing to a string does not fail");
    };
    for second in 0..600_u64 {
        let at_ms = second * 1_000;
        for client in 0..4 {
            let ip = format!("198.51.100.{}", (second * 7 + client * 31) % 200);
            add(at_ms + client, "GET", "/items/1", &ip, "alice");
        }
        if (200..260).contains(&second) {
            add(at_ms + 5, "POST", "/login", "203.0.113.77", "eve");
        }
        if second % 3 == 0 {
            add(at_ms + 7, "POST", "/login", &format!("10.0.{}.1", second % 90), "bob");
        }
        for (index, name) in HOSTILE.iter().enumerate() {
            for _ in 0..u64::from(second % 50 == 0) * (6 + index as u64) {
                add(at_ms + 9, "GET", "/search/a", "2001:db8:aaaa:bbbb::7", name);
            }
        }
        if second == 300 {
            add(at_ms, "GET", "/", "192.0.2.1", "mallory");
        }
    }
    lines.push_str("no JSON <b>\n");
    lines
}

/// A folder with a log, a policy, and another policy.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write =
        |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("it can be written");
    write("requests.json", &log());
    write("policy.yaml", POLICY);
    write("old.yaml", &POLICY.replace("5/min", "9/min"));
    folder
}

/// Replays the log, and returns the path of the report.
fn report(folder: &TempDir, more: &[&str]) -> PathBuf {
    let arguments = ["replay", "requests.json", "--policy", "policy.yaml", "--html", "report.html"];
    let fields = ["--attribute", "user=user"];
    let output = command(&[&arguments[..], &fields, more].concat()).current_dir(folder.path()).output();
    let output = output.expect("slidegate can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.path().join("report.html")
}

fn play(report: &Path, more: &Value) {
    let mut options = json!({ "report": report, "chromium": tool("SLIDEGATE_CHROMIUM").to_str() });
    options.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/external/replay_report/report.js");
    let mut node = Command::new(tool("SLIDEGATE_NODE"));
    node.env("NODE_PATH", PathBuf::from(tool("SLIDEGATE_PLAYWRIGHT")).join("node_modules"));
    let output = node.arg(&script).arg(options.to_string()).output().expect("Node.js");
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(printed, "all of it holds\n", "{errors}");
}

#[test]
fn a_report_with_everything() {
    let folder = folder();
    let more = ["--against", "old.yaml", "--algorithms", "--fail-if", "denied > 100%"];
    let least = json!({ ".chart": 10, ".sparkline": 8, ".bar": 100, ".threshold": 4, ".dot": 4, "table": 7 });
    let texts = ["203.0.113.0/24 #", "2001:db8:aaaa::/48", "user: #", "Newly refused", "Repeat it"];
    let secrets = ["203.0.113.77", "bbbb::", "alert(1)", "onerror", "mallory<"];
    let options = json!({ "least": least, "texts": texts[..1], "secrets": secrets });
    play(&report(&folder, &more), &options);
    play(&report(&folder, &more), &json!({ "least": least, "texts": texts[2..], "secrets": secrets }));
}

/// What a client chose is text, also where the reader asks for it.
#[test]
fn hostile_subjects_stay_text() {
    let folder = folder();
    let texts = [
        HOSTILE[0],
        HOSTILE[1],
        HOSTILE[2],
        "abc\\u{202e}dlrow\\u{2066}",
        "\\u{1b}[31m\\u{7}\\u{0}]]>--><!--",
    ];
    let least = json!({ ".chart": 4 });
    play(
        &report(&folder, &["--subjects", "plain"]),
        &json!({ "least": least, "texts": texts, "secrets": ["\u{202e}"] }),
    );
}

/// `scripts/pictures` takes the pictures of the documentation, of the report of the walk-through.
#[test]
fn screenshots_of_the_report() {
    if std::env::var_os("SLIDEGATE_SCREENSHOTS").is_none() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().expect("a folder");
    let policy = blocks(include_str!("../../../../docs/tuning.md"), "yaml")[0];
    fs::write(folder.path().join("policy.yaml"), policy).expect("a policy");
    fs::copy(root.join("examples/tuning/access.log.gz"), folder.path().join("access.log.gz")).expect("a log");
    let arguments =
        ["replay", "access.log.gz", "--policy", "policy.yaml", "--as-enforced", "--html", "report.html"];
    let output = command(&arguments).current_dir(folder.path()).output().expect("slidegate can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let options = json!({ "least": {}, "texts": [], "secrets": [], "images": root.join("docs/images"), "name": "replay-report", "height": 1070 });
    play(&folder.path().join("report.html"), &options);
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let ended = run(&[
        "replay",
        &at("requests.json"),
        "--policy",
        &at("policy.yaml"),
        "--attribute",
        "user=user",
        "--html",
        "/nowhere/r.html",
    ]);
    assert_eq!(
        (ended.code, ended.stderr.contains("cannot write /nowhere/r.html")),
        (Some(1), true),
        "{}",
        ended.stderr
    );
}
