//! Code blocks and console sessions of the documentation.

use std::path::Path;

use super::{ServerProcess, ShellStep, run_all};

/// Code block of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeBlock<'a> {
    /// Language.
    pub language: &'a str,
    /// Lines.
    pub text: &'a str,
    /// Prose between the block before and this one.
    pub before: &'a str,
}

impl CodeBlock<'_> {
    /// The block as a console session: a line after a prompt is a command, other lines are its
    /// output. `place` replaces the addresses of the page with those of the test.
    ///
    /// # Panics
    /// If it begins with output.
    pub fn session(&self, place: impl Fn(&str) -> String) -> Vec<ShellStep> {
        let mut found: Vec<ShellStep> = Vec::new();
        let mut goes_on = false;
        for line in self.text.lines().map(place) {
            match (found.last_mut(), line.strip_prefix("$ ")) {
                (_, Some(command)) => {
                    found.push(ShellStep { command: command.to_owned(), prints: Vec::new() });
                }
                (Some(step), None) if goes_on => step.command.extend(["\n", &line]),
                (Some(step), None) => step.prints.push(line.clone()),
                (None, None) => panic!("nothing was typed: {line}"),
            }
            goes_on = line.ends_with('\\');
        }
        found
    }
}

/// Code blocks of a page, in order.
pub fn code_blocks(page: &str) -> Vec<CodeBlock<'_>> {
    let parts: Vec<&str> = page.split("```").collect();
    let pairs = parts.chunks_exact(2).filter_map(|pair| Some((pair[0], pair[1].split_once('\n')?)));
    pairs
        .map(|(before, (language, text))| CodeBlock {
            language,
            text: text.strip_suffix('\n').unwrap_or(text),
            before,
        })
        .collect()
}

/// Code blocks of a page in this language.
pub fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let blocks = code_blocks(page).into_iter().filter(|block| block.language == language);
    blocks.map(|block| block.text).collect()
}

/// Console sessions of a page, as [`CodeBlock::session`] has them.
///
/// # Panics
/// If a block begins with output.
pub fn console(page: &str, place: impl Fn(&str) -> String) -> Vec<ShellStep> {
    let blocks = code_blocks(page).into_iter().filter(|block| block.language == "console");
    blocks.flat_map(|block| block.session(&place)).collect()
}

/// Runs the commands of a page that need no server, in a directory, and compares their output.
///
/// # Panics
/// If there are none, or one prints something else.
pub fn hold_without_server(page: &str, directory: &Path) {
    let steps = console(page, str::to_owned);
    assert!(!steps.is_empty(), "no command");
    for step in steps {
        let difference = step.run(directory, &[]);
        assert!(difference.is_none(), "{}", difference.unwrap_or_default());
    }
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
