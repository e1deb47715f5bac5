//! Code blocks and console sessions of the documentation.

use std::path::Path;

use super::{ServerProcess, ShellStep, run_all};

/// Code blocks of a page in this language.
pub fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let blocks = page.match_indices(&fence).map(|(at, _)| &page[at + fence.len()..]);
    blocks.map(|rest| rest.split_once("\n```").map_or(rest, |(block, _)| block)).collect()
}

/// Console session of a page: a line after a prompt is a command, other lines are its output.
/// `place` replaces the addresses of the page with those of the test.
///
/// # Panics
/// If a block begins with output.
pub fn console(page: &str, place: impl Fn(&str) -> String) -> Vec<ShellStep> {
    let mut found: Vec<ShellStep> = Vec::new();
    let mut goes_on = false;
    for line in blocks(page, "console").into_iter().flat_map(str::lines) {
        let line = place(line);
        match (found.last_mut(), line.strip_prefix("$ ")) {
            (_, Some(command)) => found.push(ShellStep { command: command.to_owned(), prints: Vec::new() }),
            (Some(step), None) if goes_on => step.command.extend(["\n", &line]),
            (Some(step), None) => step.prints.push(line.clone()),
            (None, None) => panic!("nothing was typed: {line}"),
        }
        goes_on = line.ends_with('\\');
    }
    found
}

/// Runs all steps in a directory and compares their output. Only a machine that stalls for a second
/// between two requests changes the times in it: then all steps run again, on a new server.
///
/// # Panics
/// If a command prints something else.
pub fn hold(
    directory: &Path,
    start: impl Fn() -> ServerProcess,
    steps_of: impl Fn(&ServerProcess) -> Vec<ShellStep>,
) {
    let mut last = String::new();
    for _ in 0..5 {
        let server = start();
        match run_all(&steps_of(&server), &server, directory) {
            Ok(()) => return,
            Err(slow) => last = slow,
        }
    }
    panic!("never fast enough: {last}");
}
