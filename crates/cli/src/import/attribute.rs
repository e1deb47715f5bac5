//! Tests of attributes in other systems, translated to conditions of a policy.
//!
//! Three attributes have a meaning of their own in a policy: `path` is normalised, `method` is
//! case-insensitive, `ip` is an address.

use std::net::IpAddr;

use slidegate::MAX_NAME_BYTES;

use super::policy_writer::ValueTest;

/// Test of an attribute in another system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AttributeTest<'a> {
    Is(&'a str),
    StartsWith(&'a str),
    /// The attribute has any value.
    Present,
}

/// The same test in a policy.
pub(super) struct TranslatedTest {
    pub(super) test: ValueTest,
    /// What differs, and what to do about it.
    pub(super) warning: Option<(String, String)>,
}

/// Translates a test. The error says why a policy cannot express it.
pub(super) fn test(name: &str, test: AttributeTest<'_>) -> Result<TranslatedTest, String> {
    check_name(name)?;
    let exactly = |test| Ok(TranslatedTest { test, warning: None });
    match (name, test) {
        ("path", AttributeTest::Is(value)) => exactly(ValueTest::Is(vec![template(value)?])),
        ("path", AttributeTest::StartsWith(value)) => path_prefix(value),
        ("path", AttributeTest::Present) => exactly(ValueTest::Prefix(vec!["/".to_owned()])),
        ("ip", AttributeTest::Is(value)) => match value.parse::<IpAddr>() {
            Ok(_) => exactly(ValueTest::Is(vec![value.to_owned()])),
            Err(_) => Err(format!("`ip` must be an address, which `{value}` is not")),
        },
        ("ip", AttributeTest::StartsWith(_)) => {
            Err("`ip` is an address, which has no text prefix".to_owned())
        }
        ("ip", AttributeTest::Present) => {
            exactly(ValueTest::Is(vec!["0.0.0.0/0".to_owned(), "::/0".to_owned()]))
        }
        (_, AttributeTest::Is(value)) => exactly(ValueTest::Is(vec![value.to_owned()])),
        (_, AttributeTest::StartsWith(value)) => exactly(ValueTest::Prefix(vec![value.to_owned()])),
        (_, AttributeTest::Present) => exactly(ValueTest::present()),
    }
}

/// Checks that a policy can have an attribute of this name.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(format!("an attribute name must have 1 to {MAX_NAME_BYTES} bytes"));
    }
    if name.contains([',', '|']) || name.trim() != name {
        return Err(format!(
            "the attribute name `{name}` contains a comma or `|`, or starts or ends with a space"
        ));
    }
    if matches!(name, "domain" | "descriptor") {
        return Err(format!("the attribute name `{name}` is reserved"));
    }
    Ok(())
}

/// Note on an attribute with a meaning of its own in a policy.
pub(super) fn meaning(name: &str) -> Option<&'static str> {
    match name {
        "path" => Some(
            "`path` is normalised: the query is removed, `//`, `.` and escapes are resolved, and `/a/` is `/a`.",
        ),
        "method" => Some("`method` is case-insensitive."),
        "ip" => Some("`ip` must be an address; IPv6 addresses are counted by their first 64 bits."),
        _ => None,
    }
}

/// Template that matches a literal path.
fn template(path: &str) -> Result<String, String> {
    let within =
        path.strip_prefix('/').ok_or_else(|| format!("invalid path `{path}`: must start with `/`"))?;
    let within = within.strip_suffix('/').unwrap_or(within);
    let is_unresolved = |segment: &str| matches!(segment, "" | "." | "..");
    if path.contains(['?', '#']) || !within.is_empty() && within.split('/').any(is_unresolved) {
        return Err(format!(
            "the path `{path}` can never match: paths are matched without query, and with `//` and `.` resolved"
        ));
    }
    Ok(path.replace('{', "%7B").replace('}', "%7D"))
}

fn path_prefix(start: &str) -> Result<TranslatedTest, String> {
    if start.is_empty() {
        return test("path", AttributeTest::Present);
    }
    let test = ValueTest::Prefix(vec![template(start)?]);
    let warning = (!start.ends_with('/')).then(|| {
        let what = format!(
            "a path prefix ends at a segment boundary: `{start}` and `{start}/…` match, `{start}…` does not"
        );
        (what, "add a rule for the other paths if they should match too".to_owned())
    });
    Ok(TranslatedTest { test, warning })
}
