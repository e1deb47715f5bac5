//! The manual: a page for every command, with every flag, and nothing that a reader of manuals
//! stumbles over.

use std::collections::BTreeSet;
use std::fs;

use super::{commands, program, tool};

/// What mandoc finds in every page of the library that writes them: they have no date, and a line
/// break too many.
const EXPECTED: [&str; 2] = ["missing date", "skipping paragraph macro: br "];

#[test]
fn every_command_has_a_page_with_every_flag() {
    let folder = tempfile::tempdir().expect("a directory");
    let written = program::run(&["man", "--directory", folder.path().to_str().expect("UTF-8")]);
    assert_eq!((written.code, written.stdout.as_str()), (Some(0), ""), "{}", written.stderr);
    let mut all = vec!["slidegate.1".to_owned()];
    for command in commands() {
        let page = format!("slidegate-{command}.1");
        let text =
            fs::read_to_string(folder.path().join(&page)).unwrap_or_else(|error| panic!("{page}: {error}"));
        for flag in flags(&program::run(&[&command, "--help"]).stdout) {
            assert!(text.contains(&flag.replace('-', "\\-")), "{page} does not tell of {flag}");
        }
        all.push(page);
    }
    let files = fs::read_dir(folder.path()).expect("pages").map(|entry| entry.expect("a page").file_name());
    let files: BTreeSet<String> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    for page in &all {
        assert!(files.contains(page), "{page}: {files:?}");
    }
    for page in &files {
        let path = folder.path().join(page);
        let found = tool("mandoc", &["-T", "lint", "-W", "warning", path.to_str().expect("UTF-8")]);
        let found: Vec<&str> = found
            .stdout
            .lines()
            .filter(|line| !EXPECTED.iter().any(|warning| line.contains(warning)))
            .collect();
        assert!(found.is_empty(), "{found:#?}");
    }
}

/// The long flags that a help text lists.
fn flags(help: &str) -> BTreeSet<String> {
    let words =
        help.lines().filter(|line| line.trim_start().starts_with('-')).flat_map(str::split_whitespace);
    words.filter(|word| word.starts_with("--")).map(|word| word.trim_end_matches(',').to_owned()).collect()
}

#[test]
fn the_first_page_is_printed() {
    let printed = program::run(&["man"]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(
        printed.stdout.contains(&format!(".TH SLIDEGATE 1 \"\" \"slidegate {}\"", env!("CARGO_PKG_VERSION")))
    );
    for command in commands() {
        assert!(printed.stdout.contains(&format!("slidegate\\-{command}(1)")), "{command}");
    }
    let nowhere = program::run(&["man", "--directory", "/dev/null/pages"]);
    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
    assert!(nowhere.stderr.contains("cannot write /dev/null/pages"), "{}", nowhere.stderr);
}
