//! The console in a real browser: Chromium, driven by Playwright, on the page of the real program.
//!
//! A test starts a server and plays a script, which says `all of it holds` or what does not.
//! Scripts share `browser.js`: no error in the browser's console, and no request to anybody but the
//! server.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use slidegate_testkit::program::{ServerProcess, blocks, file, path};

/// What operators look at.
const POLICY: &str = r#"
version: 1
server: { ad_hoc_limits: true }
rules:
  - { name: login, match: { method: POST, path: /login }, key: [ip], limits: [5/min] }
  - name: export
    match: { path: "/export/{format}" }
    key: [org, "api_key|ip"]
    limits: ["3/min", { quota: 20, window: 1h, algorithm: counter }, { quota: 100, window: 1day, algorithm: fixed }]
    tiers: { enterprise: ["200/s"] }
    mode: { enforce_for: [{ org: acme }] }
  - { name: users, match: { path: /users }, key: [user], limits: [1/day] }
  - { name: everyone, key: [ip], limits: [4/min], mode: observe, allow: [{ ip: 10.0.0.0/8 }], deny: [{ user: mallory }] }
"#;

/// Where something is that the tests did not bring along.
fn tool(variable: &str) -> OsString {
    std::env::var_os(variable).unwrap_or_else(|| {
        panic!("{variable} is not set: scripts/test installs what it names (need_browser in scripts/lib.sh)")
    })
}

/// Plays a script for a server, with more that it has to know.
fn play(script: &str, server: &ServerProcess, more: &Value) {
    let mut options = json!({ "console": server.admin_url(), "http": server.url(), "chromium": tool("SLIDEGATE_CHROMIUM").to_str() });
    options.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/external/console").join(script);
    let mut node = Command::new(tool("SLIDEGATE_NODE"));
    node.env("NODE_PATH", PathBuf::from(tool("SLIDEGATE_PLAYWRIGHT")).join("node_modules"));
    let output = node.arg(&script).arg(options.to_string()).output().expect("Node.js");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(stdout, "all of it holds\n", "{}: {stderr}", script.display());
}

fn play_with(policy: &str, script: &str, arguments: &[&str]) {
    let file = file(policy);
    let server = ServerProcess::start(&[&[path(&file)], arguments].concat());
    play(script, &server, &json!({ "policy": path(&file) }));
}

/// Charts move, whoever is limited is in the list, and the page is there in one round of requests.
#[test]
fn the_numbers_of_the_demo_move() {
    play("live.js", &ServerProcess::start(&["--demo"]), &Value::Null);
}

/// What is shown of a subject is what a check answers, to the millisecond; a reset unblocks it.
#[test]
fn a_subject_is_looked_up_and_reset() {
    play_with(POLICY, "look.js", &[]);
}

#[test]
fn an_override_applies_and_expires() {
    play_with(POLICY, "overrides.js", &[]);
}

#[test]
fn rules_and_changes_of_a_reload_are_visible() {
    play_with(POLICY, "rules.js", &[]);
}

#[test]
fn a_token_is_required() {
    let server = ServerProcess::start(&["--demo", "--admin-token", "s3cret-and-long-enough"]);
    play("token.js", &server, &json!({ "token": "s3cret-and-long-enough" }));
}

/// Everybody who is limited has a row, also who looks like another, and no link leads to somebody
/// else. A table has an end.
#[test]
fn everybody_in_a_list_has_a_row() {
    play_with(POLICY, "lists.js", &[]);
}

/// Whatever clients are called stays text.
#[test]
fn hostile_names_stay_text() {
    play_with(POLICY, "hostile.js", &[]);
}

#[test]
fn a_lost_connection_is_reported_and_restored() {
    play("lost.js", &ServerProcess::start(&["--demo"]), &Value::Null);
}

#[test]
fn a_keyboard_is_enough() {
    play_with(POLICY, "keyboard.js", &[]);
}

/// From 320 to 1440 pixels, light and dark: nothing sticks out, and axe finds nothing that keeps
/// anybody out.
#[test]
fn it_fits_every_screen_and_everybody() {
    play_with(POLICY, "layout.js", &[]);
}

/// While nothing is counted, the page says so.
#[test]
fn missing_counts_are_explained() {
    play_with(&POLICY.replace("rules:", "observe: { enabled: false }\nrules:"), "unobserved.js", &[]);
}

/// `scripts/pictures` takes the pictures of the documentation.
#[test]
fn screenshots_are_made() {
    if std::env::var_os("SLIDEGATE_SCREENSHOTS").is_none() {
        return;
    }
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
    play("pictures.js", &ServerProcess::start(&["--demo"]), &json!({ "images": images }));
}

/// Requests of the example's log in a second, of which an hour has about three.
const REQUESTS_PER_S: u64 = 40;

/// The first policy of the walk-through under the traffic of its log, only faster.
#[test]
fn screenshots_of_the_walk_through() {
    if std::env::var_os("SLIDEGATE_SCREENSHOTS").is_none() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let policy = file(blocks(include_str!("../../../../docs/tuning.md"), "yaml")[0]);
    let log = Command::new("gzip").arg("-dc").arg(root.join("examples/tuning/access.log.gz")).output();
    let log = String::from_utf8(log.expect("gzip").stdout).expect("UTF-8");
    let server = ServerProcess::start(&[path(&policy)]);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // From the first attempts of the attacker on.
            for line in log.lines().skip(3_500).take_while(|_| !is_done.load(Ordering::Relaxed)) {
                server.check(&body(line));
                std::thread::sleep(Duration::from_millis(1_000 / REQUESTS_PER_S));
            }
        });
        play("observe_pictures.js", &server, &json!({ "images": root.join("docs/images") }));
        is_done.store(true, Ordering::Relaxed);
    });
}

/// Check of the request of a line in the format `combined`.
fn body(line: &str) -> String {
    let (ip, rest) = line.split_once(' ').expect("an address");
    let request: Vec<&str> = rest.split('"').nth(1).expect("a request").split(' ').collect();
    let path = request[1].split('?').next();
    json!({ "attributes": { "method": request[0], "path": path, "ip": ip } }).to_string()
}
