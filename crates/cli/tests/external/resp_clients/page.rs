//! docs/resp.md is run as it stands.

use std::path::Path;

use slidegate_testkit::program::{ServerProcess, ShellStep, blocks, console, file, hold, path, run};

use crate::resp_clients::tools::{ioredis_modules, tool};

const PAGE: &str = include_str!("../../../../../docs/resp.md");
/// Where the page says that the server is.
const PAGES_PORT: &str = "6380";

/// A file of the page: the block that begins with its name in a comment.
fn named(language: &str, comment: &str) -> &'static str {
    let found = blocks(PAGE, language).into_iter().find(|block| block.starts_with(comment));
    found.unwrap_or_else(|| panic!("a block that begins with {comment}"))
}

#[test]
fn the_page_tells_the_truth() {
    let directory = tempfile::tempdir().expect("a directory");
    let start = || {
        let policy = file(named("yaml", "# policy.yaml"));
        let server = ServerProcess::start(&[path(&policy), "--resp", "127.0.0.1:0"]);
        let port = server.resp().port().to_string();
        for (language, comment, name) in
            [("python", "# limits.py", "limits.py"), ("js", "// limits.js", "limits.js")]
        {
            let text = named(language, comment).replace(PAGES_PORT, &port);
            std::fs::write(directory.path().join(name), text).expect("it can be written");
        }
        server
    };
    let steps_of = |server: &ServerProcess| {
        let port = server.resp().port().to_string();
        let mut steps = console(PAGE, |line| line.replace(PAGES_PORT, &port));
        assert!(steps.len() >= 11, "{steps:?}");
        together(&mut steps);
        steps.iter_mut().for_each(|step| step.command.insert_str(0, &tools()));
        steps
    };
    hold(directory.path(), start, steps_of);
}

/// What is kept in a variable is for the next step, which is typed into the same shell.
fn together(steps: &mut Vec<ShellStep>) {
    let set = steps.iter().position(|step| step.command.starts_with("permit=")).expect("a permit");
    let ShellStep { command, .. } = steps.remove(set);
    steps[set].command.insert_str(0, &format!("{command}\n"));
}

/// The clients by the names that the page has for them.
fn tools() -> String {
    let folder = |variable| {
        let program = tool(variable);
        Path::new(&program).parent().expect("a folder").display().to_string()
    };
    // redis-cli comes last, since where it is there may be others of these names.
    let folders = ["SLIDEGATE_PYTHON", "SLIDEGATE_NODE", "SLIDEGATE_REDIS_CLI"].map(folder).join(":");
    format!("export PATH={folders}:$PATH NODE_PATH={}\n", ioredis_modules().display())
}

#[test]
fn its_policies_are_right() {
    let policies = blocks(PAGE, "yaml");
    assert_eq!(policies.len(), 2);
    for policy in policies {
        let ended = run(&["validate", path(&file(policy))]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
}
