//! Reading, beside GoAccess over the same file.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::{Scale, read};
use crate::middle::median;
use crate::report::{Must, Report};

/// Measures in turns. Wall-clock time: GoAccess counts on one core, we parse on one and visit on another.
///
/// # Panics
/// If GoAccess cannot be run.
pub fn run(report: &mut Report, log: &Path, scale: Scale) {
    let (mut ours_ms, mut theirs_ms) = (Vec::new(), Vec::new());
    for round in 0..scale.rounds.div_ceil(2) + 1 {
        let began = Instant::now();
        assert_eq!(read(log), scale.lines as u64);
        let ours = began.elapsed();
        let began = Instant::now();
        goaccess(log);
        let theirs = began.elapsed();
        if round > 0 {
            ours_ms.push(ours.as_secs_f64() * 1e3);
            theirs_ms.push(theirs.as_secs_f64() * 1e3);
        }
    }
    let speed = median(ours_ms.iter().zip(&theirs_ms).map(|(ours, theirs)| theirs / ours).collect());
    report.say("\nTime for the log, in ms");
    report.row("read: method, path, ip", &[format!("{:.0}", median(ours_ms))]);
    report.row("GoAccess to JSON", &[format!("{:.0}", median(theirs_ms))]);
    report.bar("reading: speed beside GoAccess", speed, Must::AtLeast(8.0));
}

fn goaccess(log: &Path) {
    let output = log.with_extension("json");
    let program = std::env::var("SLIDEGATE_GOACCESS").unwrap_or_else(|_| "goaccess".to_owned());
    let status = Command::new(&program)
        .args(["--log-format=COMBINED", "--no-progress", "--no-global-config", "--output"])
        .arg(&output)
        .arg(log)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "{program} is missing or failed");
    assert!(output.metadata().is_ok_and(|output| output.len() > 0), "GoAccess wrote nothing");
}
