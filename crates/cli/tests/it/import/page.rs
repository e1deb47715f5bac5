//! What the page on importing tells to type prints what stands beside it.

use std::fs;

use slidegate_testkit::program::{ServerProcess, ShellStep, run_all};

const PAGE: &str = include_str!("../../../../../docs/import.md");

fn blocks(language: &str) -> Vec<&str> {
    let fence = format!("```{language}\n");
    let blocks = PAGE.match_indices(&fence).map(|(at, _)| &PAGE[at + fence.len()..]);
    blocks.map(|rest| rest.split_once("\n```").map_or(rest, |(block, _)| block)).collect()
}

#[test]
fn the_page_tells_the_truth() {
    let directory = tempfile::tempdir().expect("a directory");
    for block in blocks("yaml") {
        let name = block.lines().next().and_then(|line| line.strip_prefix("# ")).expect("a name");
        fs::write(directory.path().join(name), format!("{block}\n")).expect("it can be written");
    }
    let mut steps: Vec<ShellStep> = Vec::new();
    for line in blocks("console").into_iter().flat_map(str::lines) {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(ShellStep { command: command.to_owned(), prints: Vec::new() }),
            (None, step) => step.expect("a command").prints.push(line.to_owned()),
        }
    }
    assert_eq!(steps.len(), 4, "{steps:?}");
    let server = ServerProcess::start(&[]);
    run_all(&steps, &server, directory.path()).expect("nothing there depends on the time");
}
