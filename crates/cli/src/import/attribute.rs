//! Attributes: what other systems ask of a value, as a policy can ask it.
//!
//! Three names mean something in a policy: `path` is read as servers read paths, `method` in any case, `ip` as an address.

use std::net::IpAddr;

use slidegate::MAX_NAME_BYTES;

use super::policy_writer::Test;

/// What is asked of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked<'a> {
    Is(&'a str),
    StartsWith(&'a str),
    /// That there is one.
    Present,
}

/// The same in a policy.
pub(super) struct Said {
    pub(super) test: Test,
    /// What is not the same, and what can be done.
    pub(super) warning: Option<(String, String)>,
}

/// How a policy asks it. The error says why it cannot.
pub(super) fn test(name: &str, asked: Asked<'_>) -> Result<Said, String> {
    check_name(name)?;
    let exactly = |test| Ok(Said { test, warning: None });
    match (name, asked) {
        ("path", Asked::Is(value)) => exactly(Test::Is(vec![template(value)?])),
        ("path", Asked::StartsWith(value)) => path_prefix(value),
        ("path", Asked::Present) => exactly(Test::Prefix(vec!["/".to_owned()])),
        ("ip", Asked::Is(value)) => match value.parse::<IpAddr>() {
            Ok(_) => exactly(Test::Is(vec![value.to_owned()])),
            Err(_) => Err(format!("`ip` is always an address, and `{value}` is none")),
        },
        ("ip", Asked::StartsWith(_)) => Err("`ip` is an address, which has no start as a text".to_owned()),
        ("ip", Asked::Present) => exactly(Test::Is(vec!["0.0.0.0/0".to_owned(), "::/0".to_owned()])),
        (_, Asked::Is(value)) => exactly(Test::Is(vec![value.to_owned()])),
        (_, Asked::StartsWith(value)) => exactly(Test::Prefix(vec![value.to_owned()])),
        (_, Asked::Present) => exactly(Test::present()),
    }
}

/// Whether a policy can speak of an attribute of this name.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(format!("the name of an attribute has 1 to {MAX_NAME_BYTES} bytes"));
    }
    if name.contains([',', '|']) || name.trim() != name {
        return Err(format!("the name `{name}` has a comma, a `|` or a space where it cannot have one"));
    }
    if matches!(name, "domain" | "descriptor") {
        return Err(format!("`{name}` is taken: it says what the request is"));
    }
    Ok(())
}

/// What is different about an attribute that means something in a policy.
pub(super) fn meaning(name: &str) -> Option<&'static str> {
    match name {
        "path" => Some(
            "`path` is read as servers do: without its query, with `//`, `.` and escapes resolved, and `/a/` is `/a`.",
        ),
        "method" => Some("`method` is the same in upper and lower case."),
        "ip" => Some("`ip` has to be an address; IPv6 addresses count by their first 64 bits."),
        _ => None,
    }
}

/// A path that is meant as it is, as a template.
fn template(path: &str) -> Result<String, String> {
    let within =
        path.strip_prefix('/').ok_or_else(|| format!("`path` begins with a slash, and `{path}` does not"))?;
    let within = within.strip_suffix('/').unwrap_or(within);
    let is_odd = |segment: &str| matches!(segment, "" | "." | "..");
    if path.contains(['?', '#']) || !within.is_empty() && within.split('/').any(is_odd) {
        return Err(format!(
            "a path is matched without its query and with `//` and `.` resolved, and so never `{path}`"
        ));
    }
    Ok(path.replace('{', "%7B").replace('}', "%7D"))
}

fn path_prefix(start: &str) -> Result<Said, String> {
    if start.is_empty() {
        return test("path", Asked::Present);
    }
    let test = Test::Prefix(vec![template(start)?]);
    let warning = (!start.ends_with('/')).then(|| {
        let what = format!("a prefix of `path` ends where a segment does: `{start}` and `{start}/…` match, `{start}…` does not");
        (what, "add a rule for the other paths if they are meant, too".to_owned())
    });
    Ok(Said { test, warning })
}
