//! Requests to a server.

use std::collections::BTreeMap;

use serde::Serialize;

/// Request to check: its attributes, and how much it costs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct CheckParameters {
    attributes: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wait_ms: Option<u64>,
}

impl CheckParameters {
    /// Request without attributes, with a cost of 1.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an attribute, such as `ip`, `path` or `user`.
    #[must_use]
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.insert(name.into(), value.into());
        self
    }

    /// Sets the units to charge. 0 is a peek.
    #[must_use]
    pub fn cost(self, cost: u64) -> Self {
        Self { cost: Some(cost), ..self }
    }

    /// Sets for how long the server may delay the answer until the request fits.
    #[must_use]
    pub fn wait_ms(self, wait_ms: u64) -> Self {
        Self { wait_ms: Some(wait_ms), ..self }
    }
}

/// Body of a check.
#[derive(Serialize)]
pub(super) struct CheckCall<'a> {
    #[serde(flatten)]
    pub(super) parameters: &'a CheckParameters,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) idempotency_key: Option<String>,
}

/// Body of a settlement, which has a cost, or of a refund.
#[derive(Serialize)]
pub(super) struct PermitCall<'a> {
    pub(super) permit: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost: Option<u64>,
}
