//! Peak memory of reading a log, and of one that is ten times as long.

use std::path::Path;
use std::process::Command;

use super::{Scale, generated_log, read};
use crate::report::{Must, Report};

/// Measures each in a process of its own, as a peak does not fall.
///
/// # Panics
/// If a log cannot be written or read.
pub fn run(report: &mut Report, folder: &Path, scale: Scale) {
    let peak = |lines: usize| {
        let log = folder.join(format!("{lines}.log"));
        generated_log::write(&log, lines).expect("a log");
        let bytes = log.metadata().expect("a log").len();
        let program = std::env::current_exe().expect("this program");
        let output = Command::new(program).arg("peak").arg(&log).output().expect("this program");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let peak_kib: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
        report.row(&format!("log of {} MB", bytes / 1_000_000), &[format!("{:.1} MB", peak_kib / 1024.0)]);
        std::fs::remove_file(log).expect("the log");
        peak_kib
    };
    report.say("\nPeak memory of reading");
    let (short, long) = (peak(scale.lines / 2), peak(scale.lines * 5));
    report.bar("reading: peak memory for ten times the log", long / short, Must::AtMost(1.1));
}

/// Reads a log and prints the peak memory of this process, in KiB.
///
/// # Panics
/// If the log cannot be read.
pub fn print_peak(log: &Path) {
    read(log);
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    println!("{}", peak.trim().trim_end_matches(" kB"));
}
