//! Line of the denial log.

use std::fmt::Write;

use slidegate::Source;
use slidegate::policy::{Blocked, HitMode, KeyText};
use slidegate::telemetry::Denial;

use super::TARGET;
use super::rfc3339::rfc3339;

/// Maximum length of a subject.
const MAX_SUBJECT_BYTES: usize = 1_024;

/// Denial that is queued to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DenialLine {
    pub(super) rule: String,
    pub(super) limit: Option<String>,
    pub(super) mode: HitMode,
    pub(super) subject: String,
    pub(super) cost: u64,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) retry_after_at_most_ms: Option<u64>,
    pub(super) reset_at_ms: Option<u64>,
    pub(super) source: Source,
    pub(super) blocked: Option<Blocked>,
    pub(super) request_id: Option<String>,
}

impl DenialLine {
    pub(super) fn of(denial: &Denial<'_>) -> Self {
        Self {
            rule: denial.naming.rule().to_string(),
            limit: denial.limit.map(|limit| limit.to_string()),
            mode: denial.mode,
            subject: subject(&denial.subject()),
            cost: denial.cost,
            retry_after_ms: denial.retry_after_ms,
            retry_after_at_most_ms: denial.retry_after_at_most_ms,
            reset_at_ms: denial.reset_after_ms.map(|ms| denial.decided_at_ms.saturating_add(ms)),
            source: denial.source,
            blocked: denial.blocked,
            request_id: denial.request_id.map(str::to_owned),
        }
    }

    /// Writes the line. Values are fields, never part of the text, so that every format escapes
    /// them.
    pub(super) fn write(&self, left_out: Option<u64>) {
        let (mode, what) = match self.mode {
            HitMode::Enforce => ("enforced", "denied"),
            HitMode::Observe => ("observed", "would be denied"),
        };
        let reset_at = self.reset_at_ms.map(rfc3339);
        tracing::info!(
            target: TARGET,
            rule = self.rule.as_str(),
            limit = self.limit.as_deref(),
            mode,
            subject = self.subject.as_str(),
            cost = self.cost,
            retry_after_ms = self.retry_after_ms,
            retry_after_at_most_ms = self.retry_after_at_most_ms,
            reset_at = reset_at.as_deref(),
            barred = self.blocked.map(why),
            // A deny list or a missing key decides without a store.
            source = self.blocked.is_none().then(|| self.source.name()),
            request_id = self.request_id.as_deref(),
            left_out,
            "{what}"
        );
    }
}

/// Writes a line about denials left out, if no other line follows.
pub(super) fn write_left_out(left_out: u64) {
    tracing::info!(target: TARGET, left_out, "denials were left out");
}

/// Label of the reason why a request is blocked.
fn why(blocked: Blocked) -> &'static str {
    match blocked {
        Blocked::DenyList => "deny list",
        Blocked::MissingKey => "missing key",
    }
}

/// Subject as text: `ip=203.0.113.7 user=alice`. Ambiguous values are quoted; a part without a
/// value has no `=`.
fn subject(parts: &[KeyText]) -> String {
    let mut text = String::new();
    for KeyText { attribute, value } in parts {
        let gap = if text.is_empty() { "" } else { " " };
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '=' | '\\');
        let written = match value {
            None => write!(text, "{gap}{attribute}"),
            Some(value) if value.is_empty() || value.contains(is_odd) => {
                write!(text, "{gap}{attribute}={value:?}")
            }
            Some(value) => write!(text, "{gap}{attribute}={value}"),
        };
        written.expect("writing to a string does not fail");
    }
    if text.len() > MAX_SUBJECT_BYTES {
        text.truncate(text.floor_char_boundary(MAX_SUBJECT_BYTES));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_distinct() {
        type Parts = &'static [(&'static str, Option<&'static str>)];
        let rows: [(Parts, &str); 8] = [
            (&[], ""),
            (&[("ip", Some("203.0.113.7"))], "ip=203.0.113.7"),
            (&[("org", Some("acme")), ("user", Some("bob"))], "org=acme user=bob"),
            (&[("org", Some("acme user=bob"))], r#"org="acme user=bob""#),
            (&[("user", Some("a\nb\u{1b}[31m"))], r#"user="a\nb\u{1b}[31m""#),
            (&[("user", Some(r#"a"b"#))], r#"user="a\"b""#),
            (&[("api_key|ip", None), ("org", Some("acme"))], "api_key|ip org=acme"),
            (&[("name", Some("Zoë"))], "name=Zoë"),
        ];
        for (parts, expected) in rows {
            let part = |&(name, value): &(&str, Option<&str>)| KeyText {
                attribute: name.to_owned(),
                value: value.map(str::to_owned),
            };
            assert_eq!(subject(&parts.iter().map(part).collect::<Vec<_>>()), expected);
        }
    }

    #[test]
    fn long_subjects_are_cut() {
        let value = Some("é".repeat(4_096));
        let text = subject(&[KeyText { attribute: "user".to_owned(), value }]);
        assert!(text.ends_with("é…") && text.len() <= MAX_SUBJECT_BYTES + '…'.len_utf8(), "{}", text.len());
    }
}
