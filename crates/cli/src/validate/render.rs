//! Explanation of a policy as text for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use slidegate::policy::{LimitReport, LimitSetReport, PermitReport, RuleReport};

const STRONG: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// The verdict on a valid file, warnings about its settings, and a paragraph for every rule.
pub(super) fn policy(name: &str, warnings: &[String], rules: &[RuleReport]) -> String {
    let mut text = String::new();
    let count = if rules.len() == 1 { "1 rule".to_owned() } else { format!("{} rules", rules.len()) };
    line(&mut text, &format!("{name}: {GOOD}OK{GOOD:#} ({count})"));
    for warning in warnings {
        line(&mut text, &format!("{WARNING}warning:{WARNING:#} {warning}"));
    }
    for report in rules {
        rule(&mut text, report);
    }
    text
}

fn rule(text: &mut String, rule: &RuleReport) {
    line(text, &format!("\n{STRONG}{}{STRONG:#}", rule.name));
    line(text, &format!("  match: {}", rule.matches));
    let missing = rule.missing.as_ref().map_or_else(String::new, |missing| format!("; {missing}"));
    line(text, &format!("  key: {}{missing}", rule.key));
    line(text, &format!("  mode: {}", rule.mode));
    line(text, &format!("  on store error: {}", rule.on_store_error));
    if rule.refundable {
        line(text, "  refundable: costs can be refunded or corrected");
    }
    rule.allow.iter().for_each(|conditions| line(text, &format!("  allow: {conditions}")));
    rule.deny.iter().for_each(|conditions| line(text, &format!("  deny: {conditions}")));
    for set in &rule.limit_sets {
        limits(text, set);
    }
    for warning in &rule.warnings {
        line(text, &format!("  {WARNING}warning:{WARNING:#} {warning}"));
    }
}

fn limits(text: &mut String, set: &LimitSetReport) {
    let LimitSetReport { applies_to, bytes_per_key, .. } = set;
    let word = if applies_to.starts_with("all ") { "for" } else { "where" };
    line(text, &format!("  limits {word} {applies_to} (at most {bytes_per_key} bytes per key):"));
    for limit in &set.limits {
        line(text, &format!("    {}: {}", limit.name, behaviour(limit)));
    }
    if let Some(PermitReport { most_open, bytes, bytes_at_most }) = &set.permits {
        line(
            text,
            &format!(
                "    permits: at most {most_open} open, in {bytes} of these bytes (worst case {bytes_at_most})"
            ),
        );
    }
}

/// Guarantees of a limit.
fn behaviour(limit: &LimitReport) -> String {
    let LimitReport { quota, worst_case, .. } = limit;
    let most = if worst_case == quota {
        format!("never more than {quota} in any window")
    } else {
        format!("up to {worst_case} in one window")
    };
    match (limit.algorithm, limit.resolution_ms) {
        ("in_flight", _) => format!("at most {quota} in flight, each for at most {}", time(limit.window_ms)),
        ("log", Some(step_ms)) if limit.late_ms > 0 => {
            let step = time(step_ms);
            format!("log with a resolution of {step}; {most}; frees a slot less than {step} late")
        }
        (algorithm, _) => format!("{algorithm}; {most}"),
    }
}

/// A time in as many units as it takes.
fn time(ms: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms")];
    let mut left_ms = ms;
    let parts = units.map(|(unit_ms, unit)| {
        let count = left_ms / unit_ms;
        left_ms %= unit_ms;
        (count, unit)
    });
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}"));
    parts.collect::<Vec<_>>().join(" ")
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string does not fail");
}
