//! The walk-through from an access log to an enforced limit, and its files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use slidegate_testkit::program::{
    ServerProcess, blocks, code_blocks, executable, hold_without_server, python,
};
use tempfile::TempDir;

const PAGE: &str = include_str!("../../../../docs/tuning.md");
const EXAMPLE: &str = include_str!("../../../../examples/tuning/README.md");
const README: &str = include_str!("../../../../README.md");
const POLICY: &str = include_str!("../../../../examples/tuning/policy.yaml");

/// Command of the page that starts the server, and goes on.
const SERVE: &str = "slidegate serve policy.yaml --admin 127.0.0.1:8090";
/// Addresses of the page.
const HTTP: &str = "127.0.0.1:8080";
const ADMIN: &str = "127.0.0.1:8090";

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tuning")
}

/// A folder with the log of the example.
pub(super) fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(example().join("access.log.gz"), folder.path().join("access.log.gz")).expect("a log");
    folder
}

/// Every file of the page is saved, every command is run, and what it prints is what the page shows.
///
/// The server reads a changed file by itself after a second. Only a machine that stalls for that long
/// in a command changes what the next one prints: then all of it runs again.
#[test]
fn the_walk_through_holds_from_the_log_to_the_limit() {
    let mut last = String::new();
    for _ in 0..5 {
        match walk_through() {
            Ok(()) => return,
            Err(slow) => last = slow,
        }
    }
    panic!("never fast enough: {last}");
}

fn walk_through() -> Result<(), String> {
    let folder = folder();
    let mut server = None;
    let mut commands = 0;
    for block in code_blocks(PAGE) {
        match block.language {
            "yaml" => fs::write(folder.path().join(file_name(block.before)), format!("{}\n", block.text))
                .expect("it can be written"),
            "sh" => {
                assert_eq!(block.text, SERVE);
                let policy = folder.path().join("policy.yaml");
                server = Some(ServerProcess::start(&[policy.to_str().expect("a path")]));
            }
            "console" => {
                let steps = block.session(|line| match &server {
                    Some(server) => line
                        .replace(HTTP, &server.address().to_string())
                        .replace(ADMIN, &server.admin().to_string()),
                    None => line.to_owned(),
                });
                for step in steps {
                    let began = Instant::now();
                    if let Some(difference) = step.run(folder.path(), &variables(server.as_ref())) {
                        assert!(began.elapsed().as_millis() >= 1_000, "{difference}");
                        return Err(difference);
                    }
                    commands += 1;
                }
            }
            language => panic!("a block of {language} that nothing tests: {}", block.text),
        }
    }
    assert!(server.is_some() && commands >= 12, "{commands} commands");
    let last = fs::read_to_string(folder.path().join("policy.yaml")).expect("a policy");
    assert_eq!(last, POLICY, "examples/tuning/policy.yaml is the last policy of the page");
    Ok(())
}

/// Where the program finds the server.
fn variables(server: Option<&ServerProcess>) -> Vec<(&'static str, String)> {
    let Some(server) = server else { return Vec::new() };
    let admin = server.admin_url().expect("an admin listener");
    vec![("SLIDEGATE_SERVER", server.url()), ("SLIDEGATE_ADMIN_URL", admin)]
}

/// Name of a file, the last code before its text.
fn file_name(before: &str) -> &str {
    before.rsplit('`').nth(1).expect("a name")
}

#[test]
fn the_page_of_the_example_holds() {
    let folder = folder();
    for name in ["make_log.py", "policy.yaml"] {
        fs::copy(example().join(name), folder.path().join(name)).expect("a file");
    }
    hold_without_server(EXAMPLE, folder.path());
}

/// The two commands of the README do what it says, from the root of the repository.
#[test]
fn the_readme_suggests_and_replays() {
    let folder = tempfile::tempdir().expect("a folder");
    let block = blocks(README, "sh").into_iter().find(|block| block.contains("-- suggest")).expect("a block");
    let policy = folder.path().join("policy.yaml").display().to_string();
    let report = folder.path().join("report.html").display().to_string();
    let script = block
        .replace("cargo run --release --", executable().to_str().expect("a path"))
        .replace("policy.yaml", &policy)
        .replace("report.html", &report);
    let root = example().join("../..");
    let output = Command::new("sh").args(["-e", "-c", &script]).current_dir(root).output().expect("sh");
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("203.0.113.66"), "{printed}");
    assert!(fs::read_to_string(report).expect("a report").ends_with("</html>\n"));
}

/// The log is what its program prints; `UPDATE=1` writes it anew.
#[test]
fn the_log_of_the_example_is_generated() {
    let output = python().arg(example().join("make_log.py")).output().expect("Python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = example().join("access.log.gz");
    if std::env::var_os("UPDATE").is_some() {
        let script = "python3 make_log.py | gzip -9n > access.log.gz";
        let status = Command::new("sh").args(["-c", script]).current_dir(example()).status();
        assert!(status.expect("sh").success());
    }
    let log = Command::new("gzip").arg("-dc").arg(path).output().expect("gzip").stdout;
    assert!(log == output.stdout, "UPDATE=1 cargo test -p slidegate-cli --all-features --test it tuning::");
}
