//! Settings of telemetry.

use std::time::Duration;

use slidegate::policy::file::Percent;
use slidegate::policy::format::{Checked, InvalidValue, ValueCheck};
use slidegate::policy::quote;
use slidegate::telemetry::Subjects;

slidegate::policy::section! {
    /// Telemetry: metrics, top lists, the console, the denial log.
    pub struct ObserveSettings: "observe" as "Observe" {
        /// Whether decisions are counted. Metrics of the store and of listeners are always
        /// available.
        enabled: bool = true;
        /// A charge is a near miss if it leaves at most this share of the quota.
        near_miss: Percent = "5%";
        /// Form of subjects in top lists and in the denial log.
        subjects: Subjects = "plain";
        /// Maximum number of denials logged per second. The others are counted in a summary. 0
        /// disables the log.
        denial_log: u32 = 100;
        /// Export of metrics and traces to an OpenTelemetry collector.
        otlp: Option<OtlpSettings>;
    }
}

slidegate::policy::section! {
    /// Export to an OpenTelemetry collector over HTTP.
    pub struct OtlpSettings: "otlp" as "Otlp" {
        /// URL of the collector. Metrics go to `/v1/metrics` below it, traces to `/v1/traces`.
        endpoint: Checked<CollectorUrl> => "http://127.0.0.1:4318", { "examples": ["http://127.0.0.1:4318"] };
        /// Share of requests that are traced. If a request has `traceparent`, its sampling flag
        /// decides.
        traces: Percent = "1%";
        /// Interval of metrics, at least 1s.
        metrics_every: Checked<MetricsInterval> = "10s";
    }
}

/// URL of a collector.
struct CollectorUrl;

impl ValueCheck for CollectorUrl {
    type Base = String;
    type Value = String;

    fn check(url: String) -> Result<String, InvalidValue> {
        let host = ["http://", "https://"].iter().find_map(|scheme| url.strip_prefix(scheme));
        if host.is_some_and(|host| host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')) {
            return Ok(url);
        }
        let help = "write an HTTP URL, as in `endpoint: http://127.0.0.1:4318`";
        Err(InvalidValue::new(format!("invalid collector URL {}", quote(&url)), help))
    }
}

/// Interval of metrics.
struct MetricsInterval;

impl ValueCheck for MetricsInterval {
    type Base = Duration;
    type Value = Duration;

    fn check(interval: Duration) -> Result<Duration, InvalidValue> {
        if interval >= Duration::from_secs(1) {
            return Ok(interval);
        }
        let message = format!("metrics interval of {} ms is too short", interval.as_millis());
        Err(InvalidValue::new(message, "write at least 1s; 10s is common"))
    }
}
