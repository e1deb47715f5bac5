//! Benchmark under callgrind, which counts only inside functions named `measured_decisions`.

use std::process::Command;

/// Instructions for each of so many units of a run with these arguments.
pub fn per_unit(arguments: &[&str], units: usize) -> f64 {
    eprintln!("counting: {}", arguments.join(" "));
    let this = std::env::current_exe().expect("a running program has a path");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*measured_decisions*"])
        .arg(this)
        .args(arguments)
        .output()
        .expect("valgrind is installed");
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {report}");
    let collected = report.lines().find_map(|line| line.split_once("Collected : "));
    let (_, collected) = collected.unwrap_or_else(|| panic!("callgrind gave no count: {report}"));
    collected.trim().parse::<f64>().expect("callgrind counts in digits") / units as f64
}
