//! Files with what exactly is said about them: `table.txt`.
//!
//! A section is a file and, after `>`, its errors: line, column, what is wrong, what would be
//! right. `UPDATE=1 cargo test` writes the errors anew, to be read before they are kept.

use std::fmt::Write as _;

use super::{check, parse};

const TABLE: &str = include_str!("table.txt");

struct Section {
    name: String,
    text: String,
    expected: Vec<String>,
}

fn sections() -> Vec<Section> {
    let section = |section: &str| {
        let (name, rest) = section.split_once('\n').expect("a section has a name");
        let (expected, text): (Vec<&str>, Vec<&str>) = rest.lines().partition(|line| line.starts_with("> "));
        let text = text.iter().fold(String::new(), |text, line| text + line + "\n").replace("\\r\n", "\r\n");
        Section { name: name.to_owned(), text, expected: expected.into_iter().map(str::to_owned).collect() }
    };
    TABLE.split("=== ").skip(1).map(section).collect()
}

fn errors(text: &str) -> Vec<String> {
    let Err(errors) = parse(text) else { return Vec::new() };
    check(text, &errors);
    let lines = errors.iter().map(|e| format!("> {}:{} {} => {}", e.line, e.column, e.message, e.help));
    lines.collect()
}

#[test]
fn every_error_is_where_and_what_the_table_says() {
    let sections = sections();
    assert!(sections.len() >= 100, "{}", sections.len());
    if std::env::var_os("UPDATE").is_some() {
        let mut table = String::new();
        for Section { name, text, .. } in &sections {
            let text = text.replace("\r\n", "\\r\n");
            let _ =
                writeln!(table, "=== {name}\n{text}{}", errors(&text.replace("\\r\n", "\r\n")).join("\n"));
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/config/diagnostics/table.txt");
        std::fs::write(path, table).expect("the table can be written");
        return;
    }
    for Section { name, text, expected } in sections {
        assert!(!expected.is_empty(), "{name}: nothing is expected");
        assert_eq!(errors(&text), expected, "{name}:\n{text}");
    }
}

#[test]
fn one_run_tells_all_of_eight_errors() {
    let section = sections().into_iter().find(|section| section.name == "eight errors").expect("it is there");
    assert_eq!(errors(&section.text).len(), 8);
}
