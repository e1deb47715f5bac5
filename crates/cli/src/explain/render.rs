//! Explanation of a request as text for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use slidegate::policy::{
    ConditionsMatch, FailedCondition, KeyPartMatch, LimitSetMatch, ModeMatch, ModeReason, RequestExplanation,
    Requirement, RuleEffect, RuleExplanation,
};

use slidegate_tune::printable::printable;

const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const APPLIES: Style = AnsiColor::Green.on_default();
const REFUSES: Style = AnsiColor::Red.on_default();

/// A line for the request, and a paragraph for every rule.
pub(super) fn request(explanation: &RequestExplanation) -> String {
    let mut text = String::new();
    line(&mut text, &headline(explanation));
    for rule in &explanation.rules {
        describe(&mut text, rule);
    }
    text
}

fn headline(explanation: &RequestExplanation) -> String {
    let all = explanation.rules.len();
    let applies = |rule: &&RuleExplanation| {
        matches!(
            rule.effect,
            RuleEffect::Limited
                | RuleEffect::Observed
                | RuleEffect::WouldDenyListed
                | RuleEffect::WouldLackKey
        )
    };
    match (&explanation.error, &explanation.blocked_by) {
        (Some(error), _) => format!("{REFUSES}invalid request{REFUSES:#}: {}", printable(error)),
        (None, Some(rule)) => format!("{REFUSES}blocked{REFUSES:#} by the rule {rule}, whatever its limits"),
        (None, None) => match explanation.rules.iter().filter(applies).count() {
            0 => "allowed: no rule applies".to_owned(),
            1 => format!("1 of {} applies", rules(all)),
            count => format!("{count} of {} apply", rules(all)),
        },
    }
}

fn rules(count: usize) -> String {
    if count == 1 { "1 rule".to_owned() } else { format!("{count} rules") }
}

fn describe(text: &mut String, rule: &RuleExplanation) {
    let effect = match rule.effect {
        RuleEffect::NoMatch => format!("{FAINT}does not match{FAINT:#}"),
        RuleEffect::Limited => format!("{APPLIES}applies{APPLIES:#}"),
        RuleEffect::Observed => format!("{APPLIES}applies{APPLIES:#} in observe mode: it denies nothing"),
        RuleEffect::Exempt => format!("{FAINT}does not limit it{FAINT:#}: it is on the allow list"),
        RuleEffect::Skipped => format!("{FAINT}does not limit it{FAINT:#}: it lacks the key"),
        RuleEffect::DenyListed => format!("{REFUSES}blocks it{REFUSES:#}: it is on the deny list"),
        RuleEffect::LacksKey => format!("{REFUSES}blocks it{REFUSES:#}: it lacks the key"),
        RuleEffect::WouldDenyListed => "would block it, in observe mode: it is on the deny list".to_owned(),
        RuleEffect::WouldLackKey => "would block it, in observe mode: it lacks the key".to_owned(),
        RuleEffect::Invalid => format!("{REFUSES}cannot judge it{REFUSES:#}"),
    };
    line(text, &format!("\n{STRONG}{}{STRONG:#}: {effect}", rule.rule));
    if let Some(error) = &rule.error {
        line(text, &format!("  {}", printable(error)));
    }
    if let Some(reading) = &rule.reading {
        line(text, &format!("  path as some servers read it: {}", printable(reading)));
    }
    for failed in &rule.failed {
        line(text, &format!("  {}", condition(failed, "the rule requires")));
    }
    list(text, "deny list", &rule.deny);
    list(text, "allow list", &rule.allow);
    for part in &rule.key {
        line(text, &format!("  key: {}", key_part(part, rule.effect)));
    }
    if let Some(mode) = &rule.mode {
        describe_mode(text, mode);
    }
    if let Some(limit_set) = &rule.limit_set {
        if rule.key.is_empty() {
            line(text, "  key: none, all requests share one bucket");
        }
        describe_limits(text, limit_set);
    }
}

fn list(text: &mut String, name: &str, entries: &[ConditionsMatch]) {
    for entry in entries {
        let reason = match entry.failed.is_empty() {
            true => format!("on the {name}: {}", entry.conditions),
            false => format!("not on the {name}: {}", conditions(&entry.failed, "the list requires")),
        };
        line(text, &format!("  {reason}"));
    }
}

/// `ip 203.0.113.7 (api_key is missing: the rule falls back to ip)`.
fn key_part(part: &KeyPartMatch, effect: RuleEffect) -> String {
    let missing: Vec<String> = part.missing.iter().map(|name| format!("`{name}`")).collect();
    let missing = match &missing[..] {
        [one] => format!("{one} is missing"),
        several => format!("{} are missing", several.join(" and ")),
    };
    match (&part.attribute, &part.value) {
        (Some(attribute), Some(value)) if part.missing.is_empty() => {
            format!("{attribute} {}", printable(value))
        }
        (Some(attribute), Some(value)) => {
            format!("{attribute} {} ({missing}: the rule falls back to `{attribute}`)", printable(value))
        }
        _ => match effect {
            RuleEffect::Limited | RuleEffect::Observed => {
                format!("{missing}: such requests share one bucket")
            }
            _ => missing,
        },
    }
}

fn describe_mode(text: &mut String, mode: &ModeMatch) {
    let word = if mode.enforced { "enforced" } else { "observed" };
    match &mode.reason {
        ModeReason::Always => {}
        ModeReason::Share(share) => {
            let place = if mode.enforced { "among" } else { "not among" };
            line(text, &format!("  mode: {word}, this key is {place} the {share} that are enforced"));
        }
        ModeReason::For(list) => {
            for entry in list {
                let reason = match entry.failed.is_empty() {
                    true => entry.conditions.clone(),
                    false => conditions(&entry.failed, "the list requires"),
                };
                line(text, &format!("  mode: {word}, {reason}"));
            }
        }
    }
}

fn describe_limits(text: &mut String, set: &LimitSetMatch) {
    let limits: Vec<&str> = set.limits.iter().map(|limit| &*limit.limit).collect();
    let selection = match set.applies_to.starts_with("all ") {
        true => String::new(),
        false => format!(" ({})", set.applies_to),
    };
    line(text, &format!("  limits: {}{selection}", limits.join(", ")));
    for other in &set.others {
        let reason = conditions(&other.failed, "they require");
        line(text, &format!("  not the limits where {}: {reason}", other.conditions));
    }
}

fn conditions(failed: &[FailedCondition], owner: &str) -> String {
    failed.iter().map(|failed| condition(failed, owner)).collect::<Vec<_>>().join("; ")
}

/// `method is GET, the rule requires POST`.
fn condition(failed: &FailedCondition, owner: &str) -> String {
    let FailedCondition { attribute, value, requirement } = failed;
    let state = match value.as_deref() {
        None => format!("`{attribute}` is missing"),
        Some("") => format!("`{attribute}` is empty"),
        Some(value) => format!("{attribute} is {}", printable(value)),
    };
    let required = match requirement {
        Requirement::Is(values) => alternatives(values),
        Requirement::StartsWith(values) => format!("a value that starts with {}", alternatives(values)),
    };
    format!("{state}, {owner} {required}")
}

fn alternatives(values: &[String]) -> String {
    let value = |value: &String| if value.is_empty() { "\"\"".to_owned() } else { printable(value) };
    values.iter().map(value).collect::<Vec<_>>().join(" or ")
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string does not fail");
}
