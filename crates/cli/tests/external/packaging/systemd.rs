//! The unit of systemd: verified, held to a level of exposure, and in agreement with the policy
//! that it serves.

use std::time::Duration;

use super::{PROGRAM, is_variable_of_serve, passes, program, read, root, tool};

/// In tenths, as systemd counts: 0 is a service that can do nothing, 100 one that can do
/// everything.
const EXPOSURE: &str = "12";

/// The value of a setting that stands there once.
fn setting(unit: &str, name: &str) -> String {
    let start = format!("{name}=");
    let found: Vec<&str> = unit.lines().filter_map(|line| line.strip_prefix(&start)).collect();
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found[0].to_owned()
}

#[test]
fn systemd_finds_nothing_wrong_with_it() {
    let folder = tempfile::tempdir().expect("a directory");
    let unit = folder.path().join("slidegate.service");
    // systemd looks whether the program is there.
    let text = read("packaging/slidegate.service").replace("/usr/bin/slidegate", PROGRAM);
    std::fs::write(&unit, text).expect("it can be written");
    let output = passes("systemd-analyze", &["verify", "--man=no", unit.to_str().expect("UTF-8")]);
    assert_eq!(output, "");
}

#[test]
fn it_can_do_little_else_than_serve() {
    let threshold = format!("--threshold={EXPOSURE}");
    let arguments = ["security", "--offline=true", "--no-pager", &threshold, "packaging/slidegate.service"];
    let ended = tool("systemd-analyze", &arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
}

#[test]
fn it_agrees_with_its_policy() {
    let (unit, manifest) = (read("packaging/slidegate.service"), read("crates/cli/Cargo.toml"));
    assert_eq!(setting(&unit, "ExecStart"), "/usr/bin/slidegate serve /etc/slidegate/policy.yaml");
    assert!(manifest.contains(r#"["../../packaging/policy.yaml", "etc/slidegate/""#));
    assert!(manifest.contains(r#"["../../packaging/slidegate.default", "etc/default/slidegate""#));
    assert_eq!(setting(&unit, "EnvironmentFile"), "-/etc/default/slidegate");
    let state = setting(&unit, "StateDirectory");
    assert!(read("packaging/policy.yaml").contains(&format!("snapshot: /var/lib/{state}/")));
    assert!(read("packaging/slidegate.sysusers").starts_with(&format!("u {} ", setting(&unit, "User"))));

    let config = slidegate_server::Config::parse("policy.yaml", &read("packaging/policy.yaml"));
    let server = config.expect("a policy").settings.server;
    // Operators are answered until all others were; then the snapshot is written.
    let patience = server.shutdown_delay + 2 * (server.shutdown_timeout + Duration::from_secs(1));
    let stop_s: u64 = setting(&unit, "TimeoutStopSec").trim_end_matches('s').parse().expect("seconds");
    assert!(
        Duration::from_secs(stop_s) >= patience + Duration::from_secs(20),
        "{stop_s} s, and it may take {patience:?}"
    );
    let files: u64 = setting(&unit, "LimitNOFILE").parse().expect("a number");
    let connections = server.connections.max as u64;
    assert!(files >= 4 * (connections + 512) + 256, "{files} files for four times {connections} connections");
}

#[test]
fn the_policy_and_the_variables_are_right() {
    let policy = root().join("packaging/policy.yaml");
    let ended = program::run(&["validate", policy.to_str().expect("UTF-8")]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let variables = read("packaging/slidegate.default");
    let names = variables.lines().filter_map(|line| line.trim_start_matches('#').split_once('='));
    let names: Vec<&str> =
        names.map(|(name, _)| name).filter(|name| name.starts_with("SLIDEGATE_")).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    for name in names {
        assert!(is_variable_of_serve(name), "{name}");
    }
}
