//! Settings of telemetry.

use schemars::JsonSchema;

use super::super::schema::{self, Only};
use super::{DurationMs, Percent, Spanned};

/// Telemetry: metrics, top lists, the console, the denial log.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only(""))]
pub struct Observe {
    /// Whether decisions are counted. Metrics of the store and of listeners are always available.
    #[schemars(extend("default" = true))]
    pub enabled: bool,
    /// A charge is a near miss if it leaves at most this share of the quota.
    #[schemars(extend("default" = "5%"))]
    pub near_miss: Percent,
    /// Form of subjects in top lists and in the denial log.
    #[schemars(extend("default" = "plain"))]
    pub subjects: Subjects,
    /// Maximum number of denials logged per second. The others are counted in a summary. 0 disables the log.
    #[schemars(schema_with = "schema::whole::<0, { u32::MAX as u64 }>", extend("default" = 100))]
    pub denial_log: u32,
    /// Export of metrics and traces to an OpenTelemetry collector.
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

/// Export to an OpenTelemetry collector over HTTP. Requires a build with the feature `otlp`.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("endpoint"))]
pub struct Otlp {
    /// URL of the collector. Metrics go to `/v1/metrics` below it, traces to `/v1/traces`.
    #[schemars(length(min = 1), extend("examples" = ["http://127.0.0.1:4318"]))]
    pub endpoint: Spanned<String>,
    /// Share of requests that are traced. If a request has `traceparent`, its sampling flag decides.
    #[schemars(extend("default" = "1%"))]
    pub traces: Percent,
    /// Interval of metrics, at least 1s.
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

/// Form of subjects in top lists and in the denial log.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, schemars::JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum Subjects {
    /// Unchanged.
    #[default]
    Plain,
    /// Hashed with a secret of the process: a value has the same hash until the process ends.
    Hashed,
}
