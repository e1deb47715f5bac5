//! The command `slidegate replay`, beside GoAccess over the same file.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::{POLICIES, Scale, read};
use crate::cores::beside_us;
use crate::middle::median;
use crate::report::{Must, Report, versus};

/// Least speed of a replay, beside GoAccess.
const LEAST: f64 = 8.0;

/// Measures in turns. Wall-clock time: GoAccess counts on one core; a replay parses on one and
/// decides on another.
///
/// # Panics
/// If a program cannot be run.
pub fn run(report: &mut Report, log: &Path, scale: Scale) {
    let replay = beside_us("slidegate");
    let policies = POLICIES.map(|(name, text)| {
        let path = log.with_extension(format!("{}.yaml", name.replace(' ', "-")));
        std::fs::write(&path, text).expect("a file");
        path
    });
    let mut rounds = Vec::new();
    for round in 0..scale.rounds.div_ceil(2) + 1 {
        let turns = [
            time(|| assert_eq!(read(log), scale.lines as u64)),
            time(|| run_replay(&replay, log, &policies[0])),
            time(|| run_replay(&replay, log, &policies[1])),
            time(|| run_goaccess(log)),
        ];
        // The first round fills the caches.
        if round > 0 {
            rounds.push(turns);
        }
    }
    let ms = |index: usize| median(rounds.iter().map(|round: &[f64; 4]| round[index]).collect());
    let speed = |index: usize| median(rounds.iter().map(|round| round[3] / round[index]).collect());
    report.say("\nTime for the log, in ms; in brackets speed beside GoAccess");
    let labels = ["read: method, path, ip", "slidegate replay, one rule", "slidegate replay, four rules"];
    for (index, label) in labels.iter().enumerate() {
        report.row(label, &[versus(ms(index), speed(index))]);
    }
    report.row("GoAccess to JSON", &[format!("{:.0}", ms(3))]);
    for (index, label) in labels.iter().enumerate().take(2) {
        report.bar(format!("{label}: speed beside GoAccess"), speed(index), Must::AtLeast(LEAST));
    }
}

/// Wall-clock time in milliseconds.
fn time(work: impl FnOnce()) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_secs_f64() * 1e3
}

/// Replays the log with a policy, as a user does.
fn run_replay(program: &Path, log: &Path, policy: &Path) {
    let output = Command::new(program)
        .arg("replay")
        .arg(log)
        .arg("--policy")
        .arg(policy)
        .stdin(Stdio::null())
        .output()
        .expect("slidegate was built beside this program");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn run_goaccess(log: &Path) {
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
