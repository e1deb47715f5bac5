//! The service and its client, as the README runs them.

use std::path::Path;
use std::process::Command;

use slidegate_testkit::program::{ServerProcess, console, hold};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
const CLIENT: &str = env!("CARGO_BIN_EXE_tonic-client");

fn start() -> ServerProcess {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tonic-service"));
    ServerProcess::spawn(command.current_dir(FOLDER).env("LISTEN", "127.0.0.1:0").env_remove("POLICY"))
}

#[test]
fn the_readme_is_true() {
    hold(Path::new(FOLDER), start, |server| {
        let steps = console(include_str!("../README.md"), |line| {
            let line = line.replace("cargo run --quiet --bin tonic-client", CLIENT);
            line.replace("http://127.0.0.1:50051", &server.url())
        });
        assert_eq!(steps.len(), 1);
        steps
    });
}

#[test]
fn streams_give_their_slots_back_and_calls_stay_refused() {
    let server = start();
    let lines = || {
        let output = Command::new(CLIENT).arg(server.url()).output().expect("the client");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let open = |lines: &[String]| lines.iter().filter(|line| *line == "watch: open").count();
    assert_eq!(open(&lines()), 2);
    // The service notices the end of a client by itself.
    let second = (0..100).map(|_| lines()).find(|lines| open(lines) == 2).expect("free slots");
    assert!(second[..4].iter().all(|line| line.starts_with("check: ResourceExhausted, retry in ")));
}
