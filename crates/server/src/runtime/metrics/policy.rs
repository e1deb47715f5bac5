//! Metrics of the policy in force and its reloads.

use slidegate::Clock;

use crate::runtime::Runtime;
#[cfg(test)]
use crate::telemetry::metrics::family::MetricDescription;
use crate::telemetry::metrics::family::{Family, MetricValue, Sink};

static POLICY: Family<1> = Family::info("policy", ["digest"], "Policy file in force, by its SHA-256 digest");
static RULES: Family<0> = Family::gauge("policy_rules", [], "Rules in force");
static SUCCESS: Family<0> = Family::gauge(
    "policy_reload_success",
    [],
    "1 if the last reload succeeded; while 0, the file differs from the policy in force",
);
static RELOADS: Family<1> =
    Family::counter("policy_reloads", ["outcome"], "Reloads of the policy file by outcome: done, refused");
static LOADED: Family<0> =
    Family::gauge("policy_loaded_timestamp_seconds", [], "When the policy in force was loaded");
static ATTEMPT: Family<0> = Family::gauge(
    "policy_reload_attempt_timestamp_seconds",
    [],
    "When the last load or reload was attempted, whatever its outcome",
);
static OVERRIDES: Family<0> = Family::gauge("overrides_active", [], "Temporary overrides in force");

#[cfg(test)]
pub(super) const FAMILIES: &[&dyn MetricDescription] =
    &[&POLICY, &RULES, &SUCCESS, &RELOADS, &LOADED, &ATTEMPT, &OVERRIDES];

pub(super) fn gather<C: Clock>(sink: &mut dyn Sink, runtime: &Runtime<C>) {
    let state = runtime.reload_state();
    POLICY.put(sink, [state.policy_digest.as_deref().unwrap_or_default()], 1_u64);
    RULES.put(sink, [], runtime.gate().policy().rules().len());
    SUCCESS.put(sink, [], state.last_ok);
    RELOADS.put(sink, ["done"], state.reloads);
    RELOADS.put(sink, ["refused"], state.failures);
    LOADED.put(sink, [], MetricValue::Ms(state.loaded_at_ms));
    ATTEMPT.put(sink, [], MetricValue::Ms(state.last_attempt_at_ms));
    let active = runtime.overrides().iter().filter(|one| one.active).count();
    OVERRIDES.put(sink, [], active);
}
