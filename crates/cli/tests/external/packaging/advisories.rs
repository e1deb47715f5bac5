//! What `scripts/test` makes of what cargo-deny says of advisories.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use slidegate_testkit::program::Ended;

use super::root;

/// Runs the step of `scripts/test` with programs that only say what a row does: `fetch` and `check`
/// are scripts.
fn step(fetch: &str, check: &str) -> Ended {
    let folder = tempfile::tempdir().expect("a folder");
    let cargo = format!(
        "#!/usr/bin/env bash\ncase \" $* \" in\n*' fetch db '*) {fetch} ;;\n*' check --disable-fetch advisories '*) {check} ;;\n\
         *' check licenses bans sources '*) exit 0 ;;\n*) echo \"cargo $*\" >&2; exit 99 ;;\nesac\n"
    );
    for (name, text) in [("cargo", cargo.as_str()), ("cargo-deny", "#!/bin/sh\nexit 99\n")] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a program");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("it can be run");
    }
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").expect("a path"));
    let script = "set -euo pipefail; source scripts/lib.sh; step dependencies check_dependencies; finish 0";
    let mut bash = Command::new("bash");
    bash.args(["-c", script]).current_dir(root()).env("PATH", path);
    // No tool that was installed earlier.
    bash.env("CARGO_TARGET_DIR", folder.path()).env("SLIDEGATE_ADVISORIES_WITHIN", "1");
    bash.output().expect("bash").into()
}

#[test]
fn an_advisory_fails_and_a_database_that_is_away_does_not() {
    let away = "echo '[ERROR] failed to fetch advisory database https://github.com/RustSec/advisory-db with cli' >&2; exit 1";
    let damaged = "echo '[ERROR] failed to load advisory database' >&2; exit 1";
    let found = "echo 'error[vulnerability]: RUSTSEC-2026-0001' >&2; exit 1";
    let not_run = "advisories: not run";
    let rows = [
        ("exit 0", "exit 0", true, "advisories: none"),
        ("exit 0", found, false, "advisories: found"),
        (away, found, true, not_run),
        // It hangs.
        ("sleep 30", found, true, not_run),
        (damaged, "exit 0", false, "the database cannot be used"),
        ("exit 101", "exit 0", false, "the database cannot be used"),
    ];
    for (fetch, check, passes, expected) in rows {
        let ended = step(fetch, check);
        assert_eq!(ended.code == Some(0), passes, "{fetch} / {check}: {ended:?}");
        assert!(ended.stdout.contains(expected), "{fetch} / {check}: {ended:?}");
        assert_eq!(ended.stdout.contains("1 passed, 0 failed"), passes, "{ended:?}");
        assert_eq!(ended.stderr.contains("RUSTSEC"), check == found && expected != not_run, "{ended:?}");
    }
}
