//! Attributes that the rules of a policy need, and those that a log gives.

use slidegate::policy::file::RuleEntry;

use super::policy::{ReplayPolicy, conditions, is_path_parameter, key_parts, rule_name};
use crate::access_log::FileFacts;

/// Rule whose key needs an attribute that no field of a log gives.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the key of rule `{rule}` needs the attribute `{attribute}`, which no field of {file} gives")]
pub struct MissingAttribute {
    /// Name of the rule.
    pub rule: String,
    /// Attribute; the first one of several alternatives.
    pub attribute: String,
    /// Log without it.
    pub file: String,
}

/// Checks that the logs give every rule a key. Returns remarks on attributes that are missing
/// without being necessary.
pub fn check_attributes(
    policy: &ReplayPolicy,
    files: &[(String, FileFacts)],
) -> Result<Vec<String>, MissingAttribute> {
    let mut notes = Vec::new();
    for (file, facts) in files {
        notes.extend(check_file(policy, file, &facts.missing_attributes)?);
    }
    Ok(notes)
}

fn check_file(
    policy: &ReplayPolicy,
    file: &str,
    missing: &[String],
) -> Result<Vec<String>, MissingAttribute> {
    let mut notes = Vec::new();
    for rule in policy.rules() {
        let is_available =
            |name: &str| is_path_parameter(rule, name) || !missing.iter().any(|missing| missing == name);
        for alternatives in key_parts(rule) {
            let alternatives: Vec<&str> = alternatives.collect();
            let missing: Vec<&str> =
                alternatives.iter().copied().filter(|name| !is_available(name)).collect();
            let found = alternatives.iter().copied().find(|name| is_available(name));
            match (found, missing.first()) {
                (None, Some(first)) => {
                    let (rule, attribute) = (rule_name(rule).to_owned(), (*first).to_owned());
                    return Err(MissingAttribute { rule, attribute, file: file.to_owned() });
                }
                (Some(found), Some(_)) => notes.push(fallback_note(rule, &missing, found)),
                (_, None) => {}
            }
        }
        let mut unread: Vec<&str> = conditions(rule).map(|condition| &*condition.attribute).collect();
        if !rule.tiers.is_empty() {
            unread.push("tier");
        }
        unread.retain(|name| !is_available(name));
        unread.sort_unstable();
        unread.dedup();
        if !unread.is_empty() {
            let (rule, names) = (rule_name(rule), list(&unread));
            notes.push(format!(
                "rule `{rule}` has conditions on {names}, which no field of {file} gives: they never match"
            ));
        }
    }
    Ok(notes)
}

fn fallback_note(rule: &RuleEntry, missing: &[&str], found: &str) -> String {
    let (rule, missing) = (rule_name(rule), list(missing));
    format!("rule `{rule}` counts by `{found}`: no field of the log gives {missing}")
}

fn list(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks rules against a log without these attributes.
    fn check(rules: &str, missing: &[&str]) -> Result<Vec<String>, MissingAttribute> {
        let text = format!("version: 1\nrules: [{rules}]\n");
        let policy = ReplayPolicy::parse("policy.yaml", &text).expect("a policy");
        let missing: Vec<String> = missing.iter().map(|name| (*name).to_owned()).collect();
        check_file(&policy, "access.log", &missing)
    }

    #[test]
    fn a_key_without_a_field_is_an_error() {
        let rows = [
            ("{ name: a, key: [ip], limits: [1/s] }", None),
            ("{ name: a, limits: [1/s] }", None),
            ("{ name: a, key: [api_key], limits: [1/s] }", Some("api_key")),
            ("{ name: a, key: [ip, org], limits: [1/s] }", Some("org")),
            ("{ name: a, key: [\"api_key|user\"], limits: [1/s] }", Some("api_key")),
            ("{ name: a, key: [\"api_key|ip\"], limits: [1/s] }", None),
            ("{ name: a, match: { path: \"/u/{id}\" }, key: [id], limits: [1/s] }", None),
            ("{ name: a, match: { path: \"/u/{*id}\" }, key: [id], limits: [1/s] }", None),
            ("{ name: a, match: { path: /u }, key: [id], limits: [1/s] }", Some("id")),
        ];
        for (rule, expected) in rows {
            let missing = check(rule, &["api_key", "org", "user", "id"]).err();
            assert_eq!(missing.as_ref().map(|missing| &*missing.attribute), expected, "{rule}");
        }
    }

    #[test]
    fn missing_attributes_that_are_not_necessary_are_remarks() {
        let fallback =
            check("{ name: a, key: [\"api_key|ip\"], limits: [1/s] }", &["api_key"]).expect("a key");
        assert_eq!(fallback, ["rule `a` counts by `ip`: no field of the log gives `api_key`"]);
        let condition = "{ name: a, match: { org: acme }, limits: [1/s], tiers: { gold: [2/s] } }";
        let unread = check(condition, &["org", "tier"]).expect("no key");
        assert_eq!(
            unread,
            [
                "rule `a` has conditions on `org`, `tier`, which no field of access.log gives: they never match"
            ]
        );
    }
}
