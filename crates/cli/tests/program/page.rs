//! What stands in a page of the documentation.

use std::path::Path;

use super::{Server, Step, run_all};

/// The blocks of a page in this language.
pub(crate) fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let blocks = page.match_indices(&fence).map(|(at, _)| &page[at + fence.len()..]);
    blocks.map(|rest| rest.split_once("\n```").map_or(rest, |(block, _)| block)).collect()
}

/// What a page tells to type: what follows a prompt is typed, and the lines without one are printed. `place` puts the addresses of a test
/// where the page has its own.
pub(crate) fn console(page: &str, place: impl Fn(&str) -> String) -> Vec<Step> {
    let mut found: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for line in blocks(page, "console").into_iter().flat_map(str::lines) {
        let line = place(line);
        match (found.last_mut(), line.strip_prefix("$ ")) {
            (_, Some(command)) => found.push(Step { command: command.to_owned(), prints: Vec::new() }),
            (Some(step), None) if goes_on => step.command.extend(["\n", &line]),
            (Some(step), None) => step.prints.push(line.clone()),
            (None, None) => panic!("nothing was typed: {line}"),
        }
        goes_on = line.ends_with('\\');
    }
    found
}

/// Runs all steps in a directory. A machine that stalled for a second between two requests changes the times that are printed, and nothing else
/// does: only then all begins anew, on a fresh server.
pub(crate) fn hold(directory: &Path, start: impl Fn() -> Server, steps_of: impl Fn(&Server) -> Vec<Step>) {
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
