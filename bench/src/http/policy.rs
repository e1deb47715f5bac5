//! Policies for the service that is measured.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Seek, Write as _};

use super::server::{Server, beside_us};

/// Many requests a second for every client at `/allowed`, and one a day at `/denied`.
pub fn allowed_and_denied() -> String {
    let mut text = String::from("version: 1\nrules:\n");
    rule(&mut text, "allowed", "/allowed", "1000/s");
    rule(&mut text, "denied", "/denied", "1/day");
    text
}

/// Policy of this many rules, each for its own path.
pub fn many(rules: u32) -> String {
    let mut text = String::from("version: 1\nrules:\n");
    for number in 0..rules {
        rule(
            &mut text,
            &format!("rule-{number}"),
            &format!("/v1/{}/{{id}}/{number}", kind(number)),
            "1000/s",
        );
    }
    text
}

/// A path that the rule of this number matches.
pub fn path_of(number: u32, client: u32) -> String {
    format!("/v1/{}/{client}/{number}", kind(number))
}

/// Rules share the beginnings of their paths, as those of an API do.
fn kind(number: u32) -> String {
    format!("things-{}", number % 25)
}

fn rule(text: &mut String, name: &str, path: &str, limit: &str) {
    let rule = format!(
        "  - name: {name}\n    match: {{ method: POST, path: \"{path}\" }}\n    key: [ip]\n    limits: [\"{limit}\"]\n"
    );
    text.write_str(&rule).expect("a string takes what is written");
}

/// A policy that the service reads once, as its input: what is measured has no file to watch.
pub fn file(policy: &str) -> File {
    let mut file = tempfile::tempfile().expect("a temporary file can be made");
    file.write_all(policy.as_bytes()).and_then(|()| file.rewind()).expect("the file can be written");
    file
}

/// Starts the service with a policy.
pub fn serve(policy: &str) -> Server {
    let file = file(policy);
    Server::start(&beside_us("slidegate"), |command, address| {
        command.args(["serve", "-", "--http", &address.to_string()]).stdin(file);
    })
}
