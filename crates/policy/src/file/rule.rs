//! Rule of a file.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::super::schema::Only;
use super::{Conditions, LimitEntry, Percent, Spanned};
use slidegate_store::OnStoreError;

/// Rule: the requests it matches, the key it counts by, and the limits. All rules that match a request apply to it.
#[derive(Clone, PartialEq, Eq, Default, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("name limits"))]
pub struct Rule {
    /// Name in responses, headers and metrics: up to 64 letters, digits and `_ . : -`, unique in the file.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.:-]{1,64}$"))]
    pub name: Spanned<String>,
    /// Requests that the rule applies to. Default: all.
    #[schemars(rename = "match")]
    pub matches: Conditions,
    /// Attributes that identify a client. `api_key|ip` uses the first one that the request has. Default: all requests
    /// share one bucket.
    #[schemars(inner(length(min = 1)), extend("examples" = [["ip"], ["org", "api_key|ip"]]))]
    pub key: Vec<Spanned<String>>,
    /// Limits. A request must fit all of them.
    #[schemars(length(min = 1), extend("examples" = [["5/min"], ["10/s", "600/min"]]))]
    pub limits: Spanned<Vec<LimitEntry>>,
    /// Behavior for requests that lack an attribute of the key. Default: `shared`; for descriptors of Envoy `skip`.
    pub missing: Missing,
    /// Whether the file sets `missing`. If not, descriptors of Envoy that lack an entry of the key are skipped.
    #[schemars(skip)]
    pub missing_is_given: bool,
    /// Other limits for some requests. The first one that matches applies, before any tier.
    pub overrides: Vec<Override>,
    /// Other limits by the value of the attribute `tier`.
    #[schemars(extend("examples" = [{ "enterprise": ["200/s"] }]))]
    pub tiers: BTreeMap<String, Spanned<Vec<LimitEntry>>>,
    /// Requests that the rule does not limit.
    #[schemars(extend("examples" = [[{ "ip": "10.0.0.0/8" }]]))]
    pub allow: Vec<Conditions>,
    /// Requests that are denied regardless of the limits.
    #[schemars(extend("examples" = [[{ "user": "mallory" }]]))]
    pub deny: Vec<Conditions>,
    /// Whether the rule denies requests, or only counts and reports what it would deny.
    #[schemars(extend("default" = "enforce"))]
    pub mode: Mode,
    /// Behavior while the store is unavailable.
    #[schemars(extend("default" = "local"))]
    pub on_store_error: OnStoreError,
    /// Whether responses contain a permit, with which the cost can be refunded or corrected.
    #[schemars(extend("default" = false))]
    pub refundable: bool,
}

/// Limits that replace those of the rule for some requests.
#[derive(Clone, PartialEq, Eq, Default, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("when limits"))]
pub struct Override {
    /// Requests that it applies to.
    pub when: Conditions,
    /// Limits for them.
    #[schemars(length(min = 1), extend("examples" = [["5/min"], ["10/s", "600/min"]]))]
    pub limits: Spanned<Vec<LimitEntry>>,
}

/// Behavior for requests that lack an attribute of the key.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum Missing {
    /// All of them share one bucket.
    #[default]
    Shared,
    /// The rule does not apply to them.
    Skip,
    /// They are denied.
    Deny,
}

/// Mode of a rule.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Mode {
    /// Deny requests that exceed the limits.
    #[default]
    Enforce,
    /// Count, and report what would be denied.
    Observe,
    /// Enforce for this share of the subjects, always the same ones, and observe the others.
    Share(Percent),
    /// Enforce for requests that match one of these, and observe the others.
    For(Vec<Conditions>),
}
