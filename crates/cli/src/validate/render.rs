//! What a policy will do, for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use slidegate::policy::{LimitReport, PermitReport, RuleReport, TermsReport};

const STRONG: Style = Style::new().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Warnings about the settings, and a paragraph for every rule.
pub(super) fn policy(name: &str, warnings: &[String], rules: &[RuleReport]) -> String {
    let mut text = String::new();
    let count = if rules.len() == 1 { "1 rule".to_owned() } else { format!("{} rules", rules.len()) };
    line(&mut text, &format!("{name} is right: {count}"));
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
    fact(text, "for", &rule.matches);
    let lacking = rule.missing.as_ref().map_or_else(String::new, |missing| format!("; {missing}"));
    fact(text, "key", &format!("{}{lacking}", rule.key));
    fact(text, "mode", &rule.mode);
    fact(text, "store fails", &rule.on_store_error);
    if rule.refundable {
        fact(text, "permits", "costs can be given back or corrected");
    }
    rule.allow.iter().for_each(|requests| fact(text, "not limited", requests));
    rule.deny.iter().for_each(|requests| fact(text, "refused", requests));
    for terms in &rule.terms {
        limits(text, terms);
    }
    for warning in &rule.warnings {
        line(text, &format!("  {WARNING}warning:{WARNING:#} {warning}"));
    }
}

fn limits(text: &mut String, terms: &TermsReport) {
    let TermsReport { applies_to, bytes_per_key, .. } = terms;
    let word = if applies_to.starts_with("all ") { "for" } else { "where" };
    fact(text, "limits", &format!("{word} {applies_to}; at most {bytes_per_key} bytes per key"));
    if let Some(PermitReport { most_open, bytes, bytes_at_most }) = &terms.permits {
        let detail = format!(
            "at most {most_open} open at a time, in {bytes} of these bytes; {bytes_at_most} if all others are spent"
        );
        fact(text, "permits", &detail);
    }
    for limit in &terms.limits {
        line(text, &format!("    {}: {}", limit.name, behaviour(limit)));
    }
}

/// What can be relied on, and what cannot.
fn behaviour(limit: &LimitReport) -> String {
    let LimitReport { quota, worst_case, .. } = limit;
    let most = if worst_case == quota {
        format!("never more than {quota} in any window")
    } else {
        format!("at worst {worst_case} in one window")
    };
    match (limit.algorithm, limit.resolution_ms) {
        ("in_flight", _) => format!("at most {quota} at a time, each for {} at most", time(limit.window_ms)),
        ("log", Some(step_ms)) if limit.late_ms > 0 => {
            format!("log in steps of {0}; {most}; frees a slot less than {0} late", time(step_ms))
        }
        (algorithm, _) => format!("{algorithm}; {most}"),
    }
}

/// In as many units as it takes.
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

fn fact(text: &mut String, name: &str, fact: &str) {
    line(text, &format!("  {name:<13}{fact}"));
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a string takes everything");
}
