//! `slidegate simulate`: the worst cases of the algorithms, and the page.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use slidegate_testkit::program::{console, executable, run};

const PAGE: &str = include_str!("../../../../docs/simulate.md");

/// Runs the commands of a page in a folder, and compares what they print.
pub(super) fn hold(page: &str, folder: &Path) {
    let search = std::env::var("PATH").expect("a path");
    let programs = executable().parent().expect("a folder").to_owned();
    let steps = console(page, str::to_owned);
    assert!(!steps.is_empty(), "no command");
    for step in steps {
        let output = Command::new("sh")
            .args(["-c", &step.command])
            .current_dir(folder)
            .env("PATH", format!("{}:{search}", programs.display()))
            .output()
            .expect("sh");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let printed: Vec<&str> = text.lines().map(str::trim_end).collect();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(printed.join("\n"), step.prints.join("\n"), "{}\n{errors}", step.command);
    }
}

#[test]
fn commands_of_the_page_print_what_it_shows() {
    let folder = tempfile::tempdir().expect("a folder");
    hold(PAGE, folder.path());
}

/// 199 of 100 by the counter, twice the quota in a fixed window, none too many by the log.
#[test]
fn the_worst_cases_are_those_of_the_documentation() {
    let most = |scenario: &str| {
        let ended = run(&["simulate", scenario, "--json", "--algorithm", "log,counter,fixed"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        [0, 1, 2].map(|index| report["algorithms"][index]["most_in_window"].as_u64().expect("a number"))
    };
    assert_eq!(most("adversary"), [100, 199, 199]);
    assert_eq!(most("edge-burst"), [100, 104, 200]);
}

#[test]
fn the_same_seed_gives_the_same_result() {
    let result = |seed| run(&["simulate", "overload", "--json", "--seed", seed]).stdout;
    assert_eq!(result("7"), result("7"));
    assert_ne!(result("7"), result("8"));
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let rows: [&[&str]; 3] = [
        &["adversary", "--quota", "0"],
        &["herd", "--window", "0"],
        &["edge-burst", "--algorithm", "bucket"],
    ];
    for arguments in rows {
        let ended = run(&[&["simulate"], arguments].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(!ended.stderr.is_empty());
    }
}
