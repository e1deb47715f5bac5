//! Warnings about a rule.

use super::super::Rule;
use super::super::file::{Mode, Percent};
use slidegate_core::{Limit, LimitKind};

/// Delay of a freed slot from which there is a warning.
const LATE_MS: u64 = 60_000;

impl Rule {
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for limit_set in &self.limit_sets {
            for (limit, name) in limit_set.limits().iter().zip(limit_set.names()) {
                warnings.extend(of_limit(limit, name).filter(|warning| !warnings.contains(warning)));
            }
        }
        self.of_lists(&mut warnings);
        self.of_overrides(&mut warnings);
        warnings
    }

    fn of_lists(&self, warnings: &mut Vec<String>) {
        let written = &self.entry;
        if written.mode != Mode::Enforce && !written.deny.is_empty() {
            warnings.push("the deny list applies only where the rule is enforced".to_owned());
        }
        if written.deny.iter().any(|conditions| conditions.0.is_empty()) {
            warnings
                .push("the deny list has an entry without conditions: it denies every request".to_owned());
        } else if written.allow.iter().any(|conditions| conditions.0.is_empty()) {
            warnings
                .push("the allow list has an entry without conditions: the rule limits nothing".to_owned());
        }
        if written.mode == Mode::Share(Percent(0)) {
            warnings.push("enforcing 0% of the keys is the same as `mode: observe`".to_owned());
        }
    }

    /// Overrides that are never reached: the first match applies.
    fn of_overrides(&self, warnings: &mut Vec<String>) {
        let overrides = &self.entry.overrides;
        let same = |one: &super::Conditions, other: &super::Conditions| {
            super::conditions(one) == super::conditions(other)
        };
        for (index, other) in overrides.iter().enumerate() {
            if overrides[..index].iter().any(|earlier| same(&earlier.when, &other.when)) {
                let when = super::conditions(&other.when);
                warnings.push(format!(
                    "the override where {when} never applies: an earlier one has the same conditions"
                ));
            }
        }
    }
}

fn of_limit(limit: &Limit, name: &str) -> Option<String> {
    let late_ms = limit.resolution_ms() - 1;
    let (quota, worst) = (limit.quota(), limit.worst_case());
    match limit.kind() {
        LimitKind::Log { .. } if late_ms >= LATE_MS => Some(format!(
            "{name} frees a slot up to {} late; a finer `resolution` uses more memory per key",
            minutes(late_ms)
        )),
        _ if worst > quota => Some(format!(
            "{name} can admit {worst} in one window, above its quota of {quota}; a log never does"
        )),
        _ => None,
    }
}

/// A bound in minutes or hours, rounded up.
fn minutes(ms: u64) -> String {
    match ms.div_ceil(60_000) {
        minutes @ 0..120 => format!("{minutes} minutes"),
        minutes => format!("{} hours", minutes.div_ceil(60)),
    }
}
