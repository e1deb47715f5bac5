//! Policy of a replay: the rules of a file, which can be changed before they decide.

use std::time::Duration;

use slidegate::policy::file::{Condition, Conditions, File, LimitEntry, Mode, RuleEntry, Spanned, Test};
use slidegate::policy::{Policy, PolicyErrors};
use slidegate::{Limit, LimitError, LimitKind, MAX_QUOTA, Resolution};

/// Rules of a policy file for a replay. Refunds are left out: no log contains them.
#[derive(Clone, Debug)]
pub struct ReplayPolicy {
    name: String,
    file: File,
}

/// Algorithm of the rate limits of a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// Sliding window log, at the default resolution.
    Log,
    /// Sliding window counter.
    Counter,
    /// Fixed window.
    Fixed,
    /// Generic cell rate algorithm, with the quota as its burst.
    Gcra,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 4] = [Self::Log, Self::Counter, Self::Fixed, Self::Gcra];

    /// Name in policy files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Counter => "counter",
            Self::Fixed => "fixed",
            Self::Gcra => "gcra",
        }
    }

    fn of(self, limit: Limit) -> Result<Limit, LimitError> {
        match self {
            Self::Log => limit.resolution(Resolution::Auto),
            Self::Counter => limit.counter(),
            Self::Fixed => limit.fixed(),
            Self::Gcra => limit.gcra(limit.quota()),
        }
    }
}

impl ReplayPolicy {
    /// Reads a policy file. Reports all errors.
    pub fn parse(name: &str, text: &str) -> Result<Self, PolicyErrors> {
        // The meaning of rules is checked by compiling, with positions.
        Policy::parse(name, text)?;
        let mut file = File::parse(name, text)?;
        file.rules.iter_mut().for_each(|rule| rule.refundable = false);
        Ok(Self { name: name.to_owned(), file })
    }

    /// Name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same rules, all enforced.
    #[must_use]
    pub fn as_enforced(mut self) -> Self {
        self.file.rules.iter_mut().for_each(|rule| rule.mode = Mode::Enforce);
        self
    }

    /// The same rules without in-flight limits.
    #[must_use]
    pub fn without_in_flight(mut self) -> Self {
        for limits in self.limit_lists() {
            limits.retain(|entry| !entry.limit.is_some_and(|limit| limit.needs_id()));
            if limits.is_empty() {
                limits.push(LimitEntry { at: Default::default(), limit: Some(never_binding()), name: None });
            }
        }
        self
    }

    /// The same rules with every rate limit under this algorithm, where it can express the limit.
    #[must_use]
    pub fn under(mut self, algorithm: Algorithm) -> Self {
        for limits in self.limit_lists() {
            let mut ids = Vec::new();
            for (index, entry) in limits.iter_mut().enumerate() {
                let Some(limit) = entry.limit.filter(|limit| !limit.needs_id() && !is_never_binding(limit))
                else {
                    continue;
                };
                let mut changed = algorithm.of(limit).unwrap_or(limit);
                // Two algorithms over one window had histories of their own.
                if ids.contains(&changed.id()) {
                    let name = format!("limit-{index}");
                    changed = changed.named(&name);
                    entry.name = Some(name);
                }
                ids.push(changed.id());
                entry.limit = Some(changed);
            }
        }
        self
    }

    /// Compiles the rules.
    pub fn compile(&self) -> Result<Policy, PolicyErrors> {
        Policy::compile(self.file.clone())
    }

    /// Rules, as in the file.
    pub fn rules(&self) -> &[RuleEntry] {
        &self.file.rules
    }

    /// Limits of all rules, with the names of the rules.
    pub fn limits(&self) -> impl Iterator<Item = (&str, Limit)> {
        self.file.rules.iter().flat_map(|rule| {
            let lists = [&rule.limits].into_iter();
            let lists =
                lists.chain(rule.overrides.iter().map(|other| &other.limits)).chain(rule.tiers.values());
            let entries = lists.filter_map(|list| list.value.as_ref()).flatten();
            entries.filter_map(|entry| entry.limit).map(|limit| (rule_name(rule), limit))
        })
    }

    /// Every attribute that a rule reads, apart from parameters of its paths.
    pub fn attributes(&self) -> Vec<String> {
        let mut names = Vec::new();
        for rule in &self.file.rules {
            let keys = key_parts(rule).flatten().filter(|name| !is_path_parameter(rule, name));
            let conditions = conditions(rule).map(|condition| &*condition.attribute);
            names.extend(keys.map(str::to_owned));
            names.extend(conditions.filter(|name| !is_path_parameter(rule, name)).map(str::to_owned));
            if !rule.tiers.is_empty() {
                names.push("tier".to_owned());
            }
            // A parameter of a path is read from it.
            if key_parts(rule).flatten().any(|name| is_path_parameter(rule, name)) {
                names.push("path".to_owned());
            }
        }
        names.sort();
        names.dedup();
        names
    }

    fn limit_lists(&mut self) -> impl Iterator<Item = &mut Vec<LimitEntry>> {
        self.file.rules.iter_mut().flat_map(|rule| {
            let overrides = rule.overrides.iter_mut().map(|other| &mut other.limits);
            let lists = std::iter::once(&mut rule.limits).chain(overrides).chain(rule.tiers.values_mut());
            lists.filter_map(|list| list.value.as_mut())
        })
    }
}

/// Name of a rule of a valid file.
pub(super) fn rule_name(rule: &RuleEntry) -> &str {
    rule.name.value.as_deref().unwrap_or_default()
}

/// Parts of the key of a rule, each with its alternatives.
pub(super) fn key_parts(rule: &RuleEntry) -> impl Iterator<Item = impl Iterator<Item = &str>> {
    let parts = rule.key.iter().filter_map(|Spanned { value, .. }| value.as_deref());
    parts.map(|part| part.split('|').map(str::trim))
}

/// All conditions of a rule: of its `match`, overrides, lists and mode.
pub(super) fn conditions(rule: &RuleEntry) -> impl Iterator<Item = &Condition> {
    let mode: &[Conditions] = match &rule.mode {
        Mode::For(list) => list,
        Mode::Enforce | Mode::Observe | Mode::Share(_) => &[],
    };
    let overrides = rule.overrides.iter().map(|other| &other.when);
    let lists = rule.allow.iter().chain(&rule.deny).chain(mode);
    std::iter::once(&rule.matches).chain(overrides).chain(lists).flat_map(|conditions| &conditions.0)
}

/// Whether a path template of the rule has a parameter of this name.
pub(super) fn is_path_parameter(rule: &RuleEntry, name: &str) -> bool {
    let paths = rule.matches.0.iter().filter(|condition| condition.attribute == "path");
    let texts = paths.flat_map(|condition| match &condition.test {
        Test::Is(values) | Test::Prefix(values) => values,
    });
    let mut segments = texts.filter_map(|text| text.value.as_deref()).flat_map(|text| text.split('/'));
    segments.any(|segment| {
        let parameter = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        parameter.is_some_and(|parameter| parameter.trim_start_matches('*') == name)
    })
}

/// Limit that denies nothing, in place of the only ones of a rule that are left out.
fn never_binding() -> Limit {
    let limit = Limit::new(MAX_QUOTA, Duration::from_millis(1)).and_then(Limit::fixed);
    limit.unwrap_or(Limit::per_second(u32::MAX))
}

/// Whether a limit is the one that denies nothing.
pub(super) fn is_never_binding(limit: &Limit) -> bool {
    limit.quota() == MAX_QUOTA && limit.window_ms() == 1 && limit.kind() == LimitKind::Fixed
}
