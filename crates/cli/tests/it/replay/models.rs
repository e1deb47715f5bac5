//! The program against models in another language, and its memory. Each script is a command of its
//! own for more and longer logs.

use slidegate_testkit::program::{executable, python};

/// Runs a script with the program and these arguments.
fn script(name: &str, arguments: &[&str]) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/replay/");
    let output = python().arg(format!("{folder}{name}")).arg(executable()).args(arguments).output();
    let output = output.expect("Python");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn verdicts_are_those_of_a_naive_model() {
    let text = script("oracle.py", &["--logs", "40"]);
    // Every kind of verdict occurs.
    for verdict in ["allowed", "denied", "blocked", "skipped", "would refuse"] {
        assert!(text.contains(verdict), "{text}");
    }
}

#[test]
fn ranges_contain_the_truth() {
    let text = script("whole_seconds.py", &["--logs", "4"]);
    assert!(text.contains("truth inside"), "{text}");
}

#[test]
fn memory_does_not_grow_with_the_log() {
    // The shorter log has to fill the buffers of the reader.
    script("memory.py", &["--megabytes", "90", "--times", "3"]);
}
