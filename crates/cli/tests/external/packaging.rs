//! What is in `packaging/`: checked by the tools of each kind, and held against the program and
//! against each other.
//!
//! `need_packaging_tools` in scripts/lib.sh installs the tools; scripts/test does so.

mod advisories;
mod completions;
mod deb;
mod docker;
mod kubernetes;
mod manual;
mod sbom;
mod systemd;

use std::path::{Path, PathBuf};
use std::process::Command;

use slidegate_testkit::program::{self, Ended};

/// The program as it was built for this test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_slidegate");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the repository.
fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Runs a tool to its end, in the root of the repository.
fn tool(name: &str, arguments: &[&str]) -> Ended {
    let output = Command::new(name).args(arguments).current_dir(root()).output();
    let output = output.unwrap_or_else(|error| {
        panic!("{name}: {error}. scripts/test installs it (need_packaging_tools in scripts/lib.sh)")
    });
    output.into()
}

/// Runs a tool that has nothing to complain about.
fn passes(name: &str, arguments: &[&str]) -> String {
    let ended = tool(name, arguments);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{name} {arguments:?}: {}", ended.stdout);
    ended.stdout
}

/// The commands of the program, by its own help.
fn commands() -> Vec<String> {
    let help = program::run(&["--help"]).stdout;
    let (_, list) = help.split_once("Commands:\n").expect("a list of commands");
    let (list, _) = list.split_once("\n\n").expect("its end");
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let names = names.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help");
    let names: Vec<String> = names.map(str::to_owned).collect();
    assert!(names.len() >= 8 && names.iter().any(|name| name == "serve"), "{names:?}");
    names
}

/// The variables that `slidegate serve` reads.
fn is_variable_of_serve(name: &str) -> bool {
    let help = program::run(&["serve", "--help"]).stdout;
    // What is secret is shown without a value.
    help.contains(&format!("[env: {name}=")) || help.contains(&format!("[env: {name}]"))
}
