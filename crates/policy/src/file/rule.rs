//! Rule of a file.

use std::collections::BTreeMap;

use slidegate_store::OnStoreError;

use super::{Conditions, LimitEntry, Mode, Spanned};

crate::section! {
    /// Rule: the requests it matches, the key it counts by, and the limits. All rules that match a
    /// request apply to it.
    pub struct RuleEntry: "a rule" as "Rule" {
        /// Name in responses, headers and metrics: up to 64 letters, digits and `_ . : -`, unique
        /// in the file.
        name: Spanned<String> => "login", { "pattern": r"^[A-Za-z0-9_.:-]{1,64}$" };
        /// Requests that the rule applies to. Default: all.
        matches as "match": Conditions;
        /// Attributes that identify a client. `api_key|ip` uses the first one that the request has.
        /// Default: all requests share one bucket.
        key: Vec<Spanned<String>>, { "examples": [["ip"], ["org", "api_key|ip"]] };
        /// Limits. A request must fit all of them.
        limits: Spanned<Vec<LimitEntry>> => "[5/min]",
            { "minItems": 1, "examples": [["5/min"], ["10/s", "600/min"]] };
        /// Behavior for requests that lack an attribute of the key. Default: `shared`; for
        /// descriptors of Envoy `skip`.
        missing: Option<Missing>;
        /// Other limits for some requests. The first one that matches applies, before any tier.
        overrides: Vec<OverrideEntry>;
        /// Other limits by the value of the attribute `tier`.
        tiers: BTreeMap<String, Spanned<Vec<LimitEntry>>>, { "examples": [{ "enterprise": ["200/s"] }] };
        /// Requests that the rule does not limit.
        allow: Vec<Conditions>, { "examples": [[{ "ip": "10.0.0.0/8" }]] };
        /// Requests that are denied regardless of the limits.
        deny: Vec<Conditions>, { "examples": [[{ "user": "mallory" }]] };
        /// Whether the rule denies requests, or only counts and reports what it would deny.
        mode: Mode = "enforce";
        /// Behavior while the store is unavailable.
        on_store_error: OnStoreError = "local";
        /// Whether responses contain a permit, with which the cost can be refunded or corrected.
        refundable: bool = false;
    }
}

impl Default for RuleEntry {
    /// Rule without a name and without limits, which a program adds.
    fn default() -> Self {
        Self {
            name: Spanned::default(),
            matches: Conditions::default(),
            key: Vec::new(),
            limits: Spanned::default(),
            missing: None,
            overrides: Vec::new(),
            tiers: BTreeMap::new(),
            allow: Vec::new(),
            deny: Vec::new(),
            mode: Mode::default(),
            on_store_error: OnStoreError::default(),
            refundable: false,
        }
    }
}

impl RuleEntry {
    /// Behavior for requests that lack an attribute of the key.
    pub fn missing(&self) -> Missing {
        self.missing.unwrap_or_default()
    }
}

crate::section! {
    /// Limits that replace those of the rule for some requests.
    pub struct OverrideEntry: "an override" as "Override" {
        /// Requests that it applies to.
        when: Conditions => "{ org: acme }";
        /// Limits for them.
        limits: Spanned<Vec<LimitEntry>> => "[50/s]",
            { "minItems": 1, "examples": [["5/min"], ["10/s", "600/min"]] };
    }
}

crate::keywords! {
    /// Behavior for requests that lack an attribute of the key.
    pub enum Missing {
        Shared = "shared": "All of them share one bucket.",
        Skip = "skip": "The rule does not apply to them.",
        Deny = "deny": "They are denied.",
    }
}

crate::keywords! {
    impl OnStoreError: ["Answer while the store is unavailable."] {
        Local = "local": "Each node decides with its share of the quota.",
        Allow = "allow": "Allow everything.",
        Deny = "deny": "Deny everything.",
    }
}
