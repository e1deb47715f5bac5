//! A rule: which requests, counted by what, how often.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::super::schema::Only;
use super::{Conditions, LimitEntry, Percent, Spanned};
use slidegate_store::OnStoreError;

/// Which requests are limited, by what they are told apart, and how often they may come. All rules that match a
/// request apply to it.
#[derive(Clone, PartialEq, Eq, Default, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("name limits"))]
pub struct Rule {
    /// The name in answers, headers and metrics: up to 64 letters, digits and `_ . : -`, once per file.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.:-]{1,64}$"))]
    pub name: Spanned<String>,
    /// Which requests it is for. Left out: all.
    #[schemars(rename = "match")]
    pub matches: Conditions,
    /// The attributes that tell clients apart. `api_key|ip` takes the first that the request has. Left out: all requests
    /// count together.
    #[schemars(inner(length(min = 1)), extend("examples" = [["ip"], ["org", "api_key|ip"]]))]
    pub key: Vec<Spanned<String>>,
    /// What is allowed. A request has to fit all of them.
    #[schemars(length(min = 1), extend("examples" = [["5/min"], ["10/s", "600/min"]]))]
    pub limits: Spanned<Vec<LimitEntry>>,
    /// What happens to a request that lacks an attribute of the key. Left out: `shared`, but `skip` for descriptors of Envoy's service.
    pub missing: Missing,
    /// Whether the file has `missing`. Without it, Envoy's descriptors that lack an entry of the key are skipped.
    #[schemars(skip)]
    pub missing_is_given: bool,
    /// Other limits for some requests. The first that matches is taken, before any tier.
    pub overrides: Vec<Override>,
    /// Other limits by the attribute `tier`.
    #[schemars(extend("examples" = [{ "enterprise": ["200/s"] }]))]
    pub tiers: BTreeMap<String, Spanned<Vec<LimitEntry>>>,
    /// Requests that this rule does not limit.
    #[schemars(extend("examples" = [[{ "ip": "10.0.0.0/8" }]]))]
    pub allow: Vec<Conditions>,
    /// Requests that are refused at once, whatever the limits say.
    #[schemars(extend("examples" = [[{ "user": "mallory" }]]))]
    pub deny: Vec<Conditions>,
    /// Whether it refuses, or only counts and reports what it would refuse.
    #[schemars(extend("default" = "enforce"))]
    pub mode: Mode,
    /// What is answered while the store does not.
    #[schemars(extend("default" = "local"))]
    pub on_store_error: OnStoreError,
    /// Whether an answer brings a permit by which its cost can be given back or corrected.
    #[schemars(extend("default" = false))]
    pub refundable: bool,
}

/// Limits that take the place of a rule's own for some requests.
#[derive(Clone, PartialEq, Eq, Default, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("when limits"))]
pub struct Override {
    /// Which requests.
    pub when: Conditions,
    /// What is allowed to them.
    #[schemars(length(min = 1), extend("examples" = [["5/min"], ["10/s", "600/min"]]))]
    pub limits: Spanned<Vec<LimitEntry>>,
}

/// What happens to a request that lacks an attribute of the key.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum Missing {
    /// All that lack it count together.
    #[default]
    Shared,
    /// The rule does not apply.
    Skip,
    /// It is refused.
    Deny,
}

/// Whether a rule refuses.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Mode {
    /// It refuses.
    #[default]
    Enforce,
    /// It counts, and reports what it would refuse.
    Observe,
    /// It refuses for this share of its subjects, always the same ones, and observes the others.
    Share(Percent),
    /// It refuses for requests that match one of these, and observes the others.
    For(Vec<Conditions>),
}
