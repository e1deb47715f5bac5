//! Tests of attributes in other systems, translated to conditions of a policy.
//!
//! Three attributes have a meaning of their own in a policy: `path` is normalised, `method` is
//! case-insensitive, `ip` is an address.

use std::net::IpAddr;

use slidegate::MAX_NAME_BYTES;

use crate::policy_writer::ValueTest;

/// Test of an attribute in another system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum AttributeTest {
    /// The value is one of these.
    Is(Vec<String>),
    /// The value starts with one of these.
    StartsWith(Vec<String>),
    /// The attribute has any value.
    Present,
}

/// The same test in a policy.
pub(super) struct TranslatedTest {
    pub(super) test: ValueTest,
    /// Differences from the original, with remedies.
    pub(super) warnings: Vec<(String, String)>,
}

/// Translates a test. The error says why a policy cannot express it.
pub(super) fn test(name: &str, test: &AttributeTest) -> Result<TranslatedTest, String> {
    check_name(name)?;
    let test = match (name, test) {
        ("path", AttributeTest::Is(paths)) => ValueTest::Is(templates(paths)?),
        ("path", AttributeTest::StartsWith(starts)) => return path_prefixes(starts),
        ("path", AttributeTest::Present) => ValueTest::Prefix(vec!["/".to_owned()]),
        ("ip", AttributeTest::Is(values)) => match values.iter().find(|one| one.parse::<IpAddr>().is_err()) {
            None => ValueTest::Is(values.clone()),
            Some(value) => return Err(format!("`ip` must be an address, which `{value}` is not")),
        },
        ("ip", AttributeTest::StartsWith(_)) => {
            return Err("`ip` is an address, which has no text prefix".to_owned());
        }
        ("ip", AttributeTest::Present) => ValueTest::Is(vec!["0.0.0.0/0".to_owned(), "::/0".to_owned()]),
        (_, AttributeTest::Is(values)) => ValueTest::Is(values.clone()),
        (_, AttributeTest::StartsWith(starts)) => ValueTest::Prefix(starts.clone()),
        (_, AttributeTest::Present) => ValueTest::present(),
    };
    Ok(TranslatedTest { test, warnings: Vec::new() })
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

/// Templates that match literal paths.
fn templates(paths: &[String]) -> Result<Vec<String>, String> {
    paths.iter().map(|path| template(path)).collect()
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

fn path_prefixes(starts: &[String]) -> Result<TranslatedTest, String> {
    let starts: Vec<String> =
        starts.iter().map(|start| if start.is_empty() { "/".to_owned() } else { start.clone() }).collect();
    let warnings = starts.iter().filter(|start| !start.ends_with('/')).map(|start| {
        let what = format!(
            "a path prefix ends at a segment boundary: `{start}` and `{start}/…` match, `{start}…` does not"
        );
        (what, "add a rule for the other paths if they should match too".to_owned())
    });
    Ok(TranslatedTest { test: ValueTest::Prefix(templates(&starts)?), warnings: warnings.collect() })
}
