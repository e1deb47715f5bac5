//! What a policy will do, in words and numbers.

use serde::Serialize;
use slidegate_core::{MAX_OPEN_PERMITS, MAX_PERMIT_BYTES};

use super::file::{self, Conditions, Missing, Mode, Percent, Spanned, Test};
use super::{LimitSet, Policy, Rule};
use slidegate_core::{Limit, LimitKind};
use slidegate_store::OnStoreError;
use slidegate_store::memory::max_subject_bytes;

mod exposure;
mod warnings;

/// What one rule will do.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct RuleReport {
    /// Its name.
    pub name: String,
    /// Which requests it is for.
    pub matches: String,
    /// What tells clients apart.
    pub key: String,
    /// What happens to requests that lack an attribute of the key; `None` if there is nothing to lack.
    pub missing: Option<String>,
    /// Where it refuses.
    pub mode: String,
    /// What is answered while the store does not.
    pub on_store_error: String,
    /// Whether costs can be given back or corrected.
    pub refundable: bool,
    /// Requests that it does not limit.
    pub allow: Vec<String>,
    /// Requests that it refuses at once.
    pub deny: Vec<String>,
    /// Its sets of limits, in the order of [`Rule::limit_sets`].
    #[serde(rename = "terms")]
    pub limit_sets: Vec<LimitSetReport>,
    /// What may surprise.
    pub warnings: Vec<String>,
}

/// What a set of limits will do.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct LimitSetReport {
    /// For which of the rule's requests.
    pub applies_to: String,
    /// The most bytes that one key takes in memory, under all of its limits together. Permits count as if none were spent.
    pub bytes_per_key: usize,
    /// What open permits take, where costs may be given back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permits: Option<PermitReport>,
    /// Its limits.
    pub limits: Vec<LimitReport>,
}

/// What the open permits of one key take.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct PermitReport {
    /// The most that are open at a time: what the quota admits while a permit lasts, but no more than a key has room for.
    pub most_open: u64,
    /// The bytes that these take if none is spent before the next: part of `bytes_per_key`.
    pub bytes: usize,
    /// The bytes that as many take at most, if all their neighbours are spent.
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

/// What a limit will do.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct LimitReport {
    /// Its name in answers.
    pub name: String,
    /// The way it is written.
    pub limit: String,
    /// `log`, `counter`, `fixed`, `gcra` or `in_flight`.
    pub algorithm: &'static str,
    /// Units per window, or places.
    pub quota: u64,
    /// The window; for places in flight, the longest hold.
    pub window_ms: u64,
    /// How finely a log keeps time; `None` for what is no log.
    pub resolution_ms: Option<u64>,
    /// By how much a slot is freed late at most, because of the resolution.
    pub late_ms: u64,
    /// The most units that any window can see.
    pub worst_case: u64,
    /// The most bytes that one key takes in memory under this limit alone.
    pub bytes_per_key: usize,
}

impl Policy {
    /// What it will do, rule by rule.
    pub fn explain(&self) -> Vec<RuleReport> {
        self.rules.iter().map(Rule::explain).collect()
    }
}

impl Rule {
    fn explain(&self) -> RuleReport {
        let written = &self.written;
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

    /// For which of the rule's requests a set of limits holds.
    pub fn applies_to(&self, index: usize) -> String {
        let written = &self.written;
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
        let permits = self.written.refundable.then(|| PermitReport::of(limit_set.limits()));
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
        algorithm: algorithm(limit),
        quota: limit.quota(),
        window_ms: limit.window_ms(),
        resolution_ms: matches!(limit.kind(), LimitKind::Log { .. }).then(|| limit.resolution_ms()),
        late_ms: limit.resolution_ms() - 1,
        worst_case: limit.worst_case(),
        bytes_per_key: max_subject_bytes(&[*limit], 0),
    });
    reports.collect()
}

fn algorithm(limit: &Limit) -> &'static str {
    match limit.kind() {
        LimitKind::Log { .. } => "log",
        LimitKind::Counter => "counter",
        LimitKind::Fixed => "fixed",
        LimitKind::Gcra { .. } => "gcra",
        LimitKind::InFlight => "in_flight",
    }
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

pub(super) fn missing(rule: &file::Rule) -> &'static str {
    match rule.missing {
        Missing::Shared if rule.missing_is_given => {
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
