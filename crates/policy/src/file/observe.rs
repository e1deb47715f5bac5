//! What is counted and told of decisions.

use schemars::JsonSchema;

use super::super::schema::{self, Only};
use super::{DurationMs, Percent, Spanned};

/// What is counted and told of decisions: metrics, top lists, the console, the log of denials.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only(""))]
pub struct Observe {
    /// Whether decisions are counted at all. What the store and the listeners count is told anyhow.
    #[schemars(extend("default" = true))]
    pub enabled: bool,
    /// A charge is a near miss if it leaves at most this part of the quota.
    #[schemars(extend("default" = "5%"))]
    pub near_miss: Percent,
    /// How clients appear in top lists and in the log of denials.
    #[schemars(extend("default" = "plain"))]
    pub subjects: Subjects,
    /// The most denials that are logged in a second; of the others it is said how many they were. 0: none are logged.
    #[schemars(schema_with = "schema::whole::<0, { u32::MAX as u64 }>", extend("default" = 100))]
    pub denial_log: u32,
    /// If set, metrics and traces are sent to a collector of OpenTelemetry.
    #[schemars(with = "Otlp")]
    pub otlp: Option<Otlp>,
}

impl Default for Observe {
    fn default() -> Self {
        Self {
            enabled: true,
            near_miss: Percent(500),
            subjects: Subjects::Plain,
            denial_log: 100,
            otlp: None,
        }
    }
}

/// Where OpenTelemetry is sent, over HTTP. It needs a program that was built with the feature `otlp`.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("endpoint"))]
pub struct Otlp {
    /// The collector. Metrics go to `/v1/metrics` below it, traces to `/v1/traces`.
    #[schemars(length(min = 1), extend("examples" = ["http://127.0.0.1:4318"]))]
    pub endpoint: Spanned<String>,
    /// The share of requests that leave a trace. Where a caller sends `traceparent`, it decides.
    #[schemars(extend("default" = "1%"))]
    pub traces: Percent,
    /// How often metrics are sent, at least 1s.
    #[schemars(extend("default" = "10s"))]
    pub metrics_every: Spanned<DurationMs>,
}

impl Default for Otlp {
    fn default() -> Self {
        Self {
            endpoint: Spanned::of("http://127.0.0.1:4318".to_owned()),
            traces: Percent(100),
            metrics_every: Spanned::of(DurationMs(10_000)),
        }
    }
}

/// How subjects appear in top lists and in the denial log.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, schemars::JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum Subjects {
    /// As they are.
    #[default]
    Plain,
    /// As a hash under a secret of this process: the same value has the same hash until it ends.
    Hashed,
}
