//! The program against models in another language, and its memory. Each script is a command of its
//! own.
//!
//! Numbers of logs and megabytes are set by `SLIDEGATE_ORACLE_LOGS`, `SLIDEGATE_SECONDS_LOGS` and
//! `SLIDEGATE_LOG_MEGABYTES`.

use slidegate_testkit::cases::number;
use slidegate_testkit::program::{executable, python};

/// Runs a script with the program and these arguments. It leaves no compiled files behind.
fn script(name: &str, arguments: &[&str]) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/replay/");
    let mut command = python();
    command.env("PYTHONDONTWRITEBYTECODE", "1").arg(format!("{folder}{name}")).arg(executable());
    let output = command.args(arguments).output().expect("Python");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    println!("{}", text.trim_end());
    text
}

/// A number from the environment, or the one of the tests.
fn size(name: &str, default: u64) -> String {
    number(name).unwrap_or(default).to_string()
}

#[test]
fn verdicts_are_those_of_a_naive_model() {
    let text = script("oracle.py", &["--logs", &size("SLIDEGATE_ORACLE_LOGS", 40)]);
    // Every kind of verdict occurs.
    for verdict in ["allowed", "denied", "blocked", "skipped", "would refuse"] {
        assert!(text.contains(verdict), "{text}");
    }
}

#[test]
fn ranges_contain_the_truth() {
    let text = script("whole_seconds.py", &["--logs", &size("SLIDEGATE_SECONDS_LOGS", 4)]);
    assert!(text.contains("truth inside"), "{text}");
}

#[test]
fn memory_does_not_grow_with_the_log() {
    // The shorter log has to fill the buffers of the reader.
    let (megabytes, times) = match number("SLIDEGATE_LOG_MEGABYTES") {
        Some(megabytes) => (megabytes.to_string(), "10"),
        None => ("90".to_owned(), "3"),
    };
    script("memory.py", &["--megabytes", &megabytes, "--times", times]);
}
