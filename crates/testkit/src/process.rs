//! Tests in processes of their own: the test program starts itself again for one test.

use std::env;
use std::process::Command;

/// Set in the process of a test that runs alone, to the name of the test.
const ALONE: &str = "SLIDEGATE_ALONE";

/// Command that runs one test of this program in another process.
///
/// `module` is the `module_path!()` of the test, `test` the name of its function.
pub fn rerun(module: &str, test: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", &name(module, test), "--nocapture", "--test-threads=1"]);
    command
}

/// Runs the body of a test in a process that runs nothing else, for what is counted per process.
///
/// # Panics
/// If the test fails there, or is not found.
pub fn alone(module: &str, test: &str, body: impl FnOnce()) {
    let name = name(module, test);
    if env::var_os(ALONE).is_some_and(|alone| *alone == *name) {
        return body();
    }
    let output = rerun(module, test).env(ALONE, &name).output().expect("a process");
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    print!("{stdout}");
    eprint!("{stderr}");
    assert!(output.status.success() && stdout.contains(" 1 passed"), "{name} alone: {}", output.status);
}

/// The name of a test in its program: the path of its module without the crate.
fn name(module: &str, test: &str) -> String {
    let path = module.split_once("::").map_or("", |(_, path)| path);
    if path.is_empty() { test.to_owned() } else { format!("{path}::{test}") }
}
