//! The Dockerfile: linted, and what it says of the program is true.

use super::{passes, program, read};

/// The lines of the final stage, by instruction.
fn last_stage() -> Vec<(String, String)> {
    let file = read("packaging/Dockerfile");
    let lines =
        file.lines().filter(|line| !line.starts_with('#') && !line.is_empty() && !line.starts_with(' '));
    let split =
        lines.filter_map(|line| line.split_once(' ')).map(|(word, rest)| (word.to_owned(), rest.to_owned()));
    let all: Vec<_> = split.collect();
    let begins = all.iter().rposition(|(word, _)| word == "FROM").expect("a stage");
    all[begins..].to_vec()
}

fn one(stage: &[(String, String)], instruction: &str) -> String {
    let found: Vec<&String> =
        stage.iter().filter(|(word, _)| word == instruction).map(|(_, rest)| rest).collect();
    assert_eq!(found.len(), 1, "{instruction}: {found:?}");
    found[0].clone()
}

/// A command in the form that needs no shell.
fn exec(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text} would need a shell: {error}"))
}

#[test]
fn a_linter_finds_nothing() {
    let hadolint = std::env::var("SLIDEGATE_HADOLINT")
        .expect("SLIDEGATE_HADOLINT is not set: the path of hadolint. scripts/test installs it (need_packaging_tools)");
    let output = passes(&hadolint, &["--failure-threshold", "style", "packaging/Dockerfile"]);
    assert_eq!(output, "");
}

#[test]
fn it_builds_with_the_toolchain_of_the_repository() {
    let (file, toolchain) = (read("packaging/Dockerfile"), read("rust-toolchain.toml"));
    let channel = toolchain.split_once("channel = \"").and_then(|(_, rest)| rest.split_once('"'));
    let (channel, _) = channel.expect("a channel");
    assert!(
        file.contains(&format!("FROM rust:{channel}-"))
            && file.contains(&format!("RUSTUP_TOOLCHAIN={channel}\n"))
    );
    assert!(file.contains("cargo build --release --locked"));
}

#[test]
fn the_image_has_no_root_and_no_shell() {
    let stage = last_stage();
    assert!(stage.iter().all(|(word, _)| word != "RUN" && word != "SHELL"), "{stage:?}");
    let user = one(&stage, "USER");
    let ids: Vec<u32> =
        user.split(':').map(|id| id.parse().expect("a number, which runAsNonRoot can check")).collect();
    assert!(ids.len() == 2 && ids.iter().all(|id| *id > 0), "{user}");
    assert_eq!(one(&stage, "STOPSIGNAL"), "SIGTERM");
}

#[test]
fn it_asks_the_program_itself_whether_it_is_well() {
    let stage = last_stage();
    let check = one(&stage, "HEALTHCHECK");
    let (_, command) = check.split_once("CMD ").expect("a command");
    let (health, start) = (exec(command), exec(&one(&stage, "CMD")));
    assert_eq!(exec(&one(&stage, "ENTRYPOINT")), health[..1]);
    assert_eq!(health[1..], ["health"]);
    // Where it listens is where health asks, unless told otherwise.
    let http =
        stage.iter().find_map(|(_, rest)| rest.strip_prefix("SLIDEGATE_HTTP=0.0.0.0:")).expect("an address");
    assert_eq!(one(&stage, "EXPOSE"), http);
    let help = program::run(&["health", "--help"]).stdout;
    assert!(help.contains(&format!("[default: http://127.0.0.1:{http}]")), "{help}");
    for arguments in [&start[..], &health[1..]] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["--help"]).collect();
        assert_eq!(program::run(&arguments).code, Some(0), "{arguments:?}");
    }
}
