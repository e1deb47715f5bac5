//! Explanation of a policy in words and numbers.

use serde::Serialize;
use slidegate_core::{MAX_OPEN_PERMITS, MAX_PERMIT_BYTES};

use super::file::{self, Conditions, Missing, Mode, Percent, Spanned, Test};
use super::{LimitSet, Policy, Rule};
use slidegate_core::{Limit, LimitKind};
use slidegate_store::OnStoreError;
use slidegate_store::memory::max_subject_bytes;

mod request;
mod warnings;

pub use request::{
    ConditionsMatch, FailedCondition, KeyPartMatch, LimitSetMatch, ModeMatch, ModeReason, RequestExplanation,
    Requirement, RuleEffect, RuleExplanation,
};

/// Explanation of a rule.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct RuleReport {
    /// Name.
    pub name: String,
    /// Requests that it matches.
    pub matches: String,
    /// Attributes that identify a client.
    pub key: String,
    /// Behavior for requests that lack an attribute of the key; `None` without a key.
    pub missing: Option<String>,
    /// Mode.
    pub mode: String,
    /// Behavior while the store is unavailable.
    pub on_store_error: String,
    /// Whether costs can be refunded or corrected.
    pub refundable: bool,
    /// Requests that it does not limit.
    pub allow: Vec<String>,
    /// Requests that it denies regardless of the limits.
    pub deny: Vec<String>,
    /// Limit sets, in the order of [`Rule::limit_sets`].
    #[serde(rename = "terms")]
    pub limit_sets: Vec<LimitSetReport>,
    /// Warnings.
    pub warnings: Vec<String>,
}

/// Explanation of a limit set.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct LimitSetReport {
    /// Requests of the rule that it applies to.
    pub applies_to: String,
    /// Maximum memory of a key in bytes, with all of its limits and its open permits.
    pub bytes_per_key: usize,
    /// Open permits, if the rule is refundable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permits: Option<PermitReport>,
    /// Limits.
    pub limits: Vec<LimitReport>,
}

/// Memory of the open permits of a key.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct PermitReport {
    /// Maximum number of open permits: what the quota admits during the lifetime of a permit, up to
    /// the bound of a key.
    pub most_open: u64,
    /// Memory of these permits if none is spent before the next: part of `bytes_per_key`.
    pub bytes: usize,
    /// Maximum memory of as many permits, if all their neighbours are spent.
    pub bytes_at_most: usize,
}

impl PermitReport {
    fn of(limits: &[Limit]) -> Self {
        let lasts_ms = |limit: &Limit| match limit.kind() {
            LimitKind::Counter => 2 * limit.window_ms(),
            _ => limit.window_ms(),
        };
        let admits = |limit: &Limit| limit.quota().saturating_mul(lasts_ms(limit) / limit.window_ms());
        let rates = limits.iter().filter(|limit| !limit.needs_id());
        let most = rates.max_by_key(|limit| lasts_ms(limit)).map_or(0, admits).min(MAX_OPEN_PERMITS);
        let bytes = |open: u64| max_subject_bytes(&[], open as usize) - max_subject_bytes(&[], 0);
        let bytes_at_most = bytes(most.min(1)) + MAX_PERMIT_BYTES * most as usize;
        Self { most_open: most, bytes: bytes(most), bytes_at_most }
    }
}

/// Explanation of a limit.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct LimitReport {
    /// Name in responses.
    pub name: String,
    /// Short form.
    pub limit: String,
    /// `log`, `counter`, `fixed`, `gcra` or `in_flight`.
    pub algorithm: &'static str,
    /// Units per window, or requests in flight.
    pub quota: u64,
    /// Window; for requests in flight, the maximum hold.
    pub window_ms: u64,
    /// Time resolution of a log; `None` for other algorithms.
    pub resolution_ms: Option<u64>,
    /// Maximum delay of a freed slot, due to the resolution.
    pub late_ms: u64,
    /// Maximum number of units in any window.
    pub worst_case: u64,
    /// Maximum memory of a key in bytes with this limit alone.
    pub bytes_per_key: usize,
}

impl Policy {
    /// Explanations of all rules.
    pub fn explain(&self) -> Vec<RuleReport> {
        self.rules.iter().map(Rule::explain).collect()
    }
}

impl Rule {
    fn explain(&self) -> RuleReport {
        let written = &self.entry;
        let list = |list: &[Conditions]| list.iter().map(conditions).collect();
        RuleReport {
            name: self.name.to_string(),
            matches: conditions(&written.matches),
            key: key(&written.key),
            missing: (!written.key.is_empty()).then(|| missing(written).to_owned()),
            mode: mode(&written.mode),
            on_store_error: on_store_error(written.on_store_error).to_owned(),
            refundable: written.refundable,
            allow: list(&written.allow),
            deny: list(&written.deny),
            limit_sets: (0..self.limit_sets.len()).map(|index| self.explain_limit_set(index)).collect(),
            warnings: self.warnings(),
        }
    }

    /// Requests of the rule that a limit set applies to.
    pub fn applies_to(&self, index: usize) -> String {
        let written = &self.entry;
        let overrides = written.overrides.iter().map(|other| conditions(&other.when));
        let tiers = written.tiers.keys().map(|tier| format!("tier is {tier}"));
        match index.checked_sub(1) {
            None if self.limit_sets.len() > 1 => "all others".to_owned(),
            None => "all requests".to_owned(),
            Some(index) => overrides.chain(tiers).nth(index).unwrap_or_default(),
        }
    }

    fn explain_limit_set(&self, index: usize) -> LimitSetReport {
        let applies_to = self.applies_to(index);
        let limit_set = &self.limit_sets[index];
        let permits = self.entry.refundable.then(|| PermitReport::of(limit_set.limits()));
        let open = permits.as_ref().map_or(0, |permits| permits.most_open);
        let bytes_per_key = max_subject_bytes(limit_set.limits(), open as usize);
        LimitSetReport { applies_to, bytes_per_key, permits, limits: limits(limit_set) }
    }
}

fn limits(limit_set: &LimitSet) -> Vec<LimitReport> {
    let both = limit_set.limits().iter().zip(limit_set.names());
    let reports = both.map(|(limit, name)| LimitReport {
        name: name.to_string(),
        limit: limit.to_string(),
        algorithm: limit.kind().name(),
        quota: limit.quota(),
        window_ms: limit.window_ms(),
        resolution_ms: matches!(limit.kind(), LimitKind::Log { .. }).then(|| limit.resolution_ms()),
        late_ms: limit.resolution_ms() - 1,
        worst_case: limit.worst_case(),
        bytes_per_key: max_subject_bytes(&[*limit], 0),
    });
    reports.collect()
}

pub(super) fn conditions(Conditions(all): &Conditions) -> String {
    if all.is_empty() {
        return "all requests".to_owned();
    }
    let one = |spots: &[Spanned<String>]| {
        let texts: Vec<&str> = spots.iter().filter_map(|spot| spot.value.as_deref()).collect();
        texts.join(" or ")
    };
    let texts = all.iter().map(|condition| match &condition.test {
        Test::Is(spots) => format!("{} is {}", condition.attribute, one(spots)),
        Test::Prefix(spots) => format!("{} starts with {}", condition.attribute, one(spots)),
    });
    texts.collect::<Vec<_>>().join(" and ")
}

pub(super) fn key(parts: &[Spanned<String>]) -> String {
    if parts.is_empty() {
        return "none: all requests share one bucket".to_owned();
    }
    let texts = parts.iter().filter_map(|part| part.value.as_deref());
    texts.map(|part| part.replace('|', " or else ")).collect::<Vec<_>>().join(" and ")
}

pub(super) fn missing(rule: &file::RuleEntry) -> &'static str {
    match rule.missing() {
        Missing::Shared if rule.missing.is_some() => {
            "requests missing it share one bucket, as do Envoy's descriptors"
        }
        Missing::Shared => "requests missing it share one bucket",
        Missing::Skip => "requests missing it are not limited",
        Missing::Deny => "requests missing it are denied",
    }
}

pub(super) fn mode(mode: &Mode) -> String {
    match mode {
        Mode::Enforce => "enforced".to_owned(),
        Mode::Observe => "observed: counts, but denies nothing".to_owned(),
        Mode::Share(share) => {
            format!("enforced for {} of its keys, observed for the others", percent(*share))
        }
        Mode::For(list) => {
            let list: Vec<String> = list.iter().map(conditions).collect();
            format!("enforced where {}, observed elsewhere", list.join(", or "))
        }
    }
}

fn percent(Percent(hundredths): Percent) -> String {
    match (hundredths / 100, hundredths % 100) {
        (whole, 0) => format!("{whole}%"),
        (whole, part) => format!("{whole}.{part:02}%"),
    }
}

pub(super) fn on_store_error(on_store_error: OnStoreError) -> &'static str {
    match on_store_error {
        OnStoreError::Local => "local limit (quota ÷ instances)",
        OnStoreError::Allow => "allow all requests",
        OnStoreError::Deny => "deny all requests",
    }
}
