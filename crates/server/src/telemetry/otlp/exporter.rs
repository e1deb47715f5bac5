//! OTLP exporter: its collector, its queue of spans, and the tracer of requests.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hyper::HeaderMap;
use parking_lot::Mutex;
use slidegate::policy::mask_secrets;
use slidegate::{Answer, GateError, Verdict};

use super::client::CollectorClient;
use super::messages::Resource;
use super::span_attributes;
use super::spans::{SpanCounts, Spans};
use super::trace::{SampleShare, SpanOutcome, Trace};
use super::variables::Variables;
use crate::config::Settings;
use crate::config::error::ConfigError;
use crate::config::listener::Listener;
use crate::config::otlp_error::OtlpError;
use crate::telemetry::log_throttle::LogThrottle;

/// Interval of log lines about a failing collector.
const FAILURE_LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Tracer: traces of requests, if a collector is set.
pub(crate) struct Tracer(pub(super) Option<Arc<Exporter>>);

/// Exporter to a collector.
pub(super) struct Exporter {
    pub(super) client: CollectorClient,
    pub(super) resource: Resource,
    pub(super) share: SampleShare,
    pub(super) spans: Spans,
    pub(super) metrics_every: Duration,
    /// Start of the counters.
    pub(super) started: SystemTime,
    /// Endpoint as text.
    pub(super) endpoint: String,
    pub(super) failures: Mutex<LogThrottle>,
}

impl Tracer {
    /// Checks the settings.
    pub(crate) fn check(settings: &Settings) -> Result<(), ConfigError> {
        Self::new(settings).map(drop)
    }

    pub(crate) fn new(settings: &Settings) -> Result<Self, ConfigError> {
        let Some(otlp) = &settings.observe.otlp else { return Ok(Self(None)) };
        let variables = Variables::read(|name| std::env::var(name).ok(), instance())?;
        let endpoint = &otlp.endpoint;
        let url = endpoint.parse().map_err(|_| OtlpError::Endpoint { endpoint: mask_secrets(endpoint) })?;
        let client = CollectorClient::new(url, &variables)?;
        if variables.disabled {
            return Ok(Self(None));
        }
        Ok(Self(Some(Arc::new(Exporter {
            client,
            resource: Resource { attributes: variables.resource },
            share: SampleShare::new(otlp.traces.0),
            spans: Spans::new(),
            metrics_every: otlp.metrics_every,
            started: SystemTime::now(),
            endpoint: endpoint.clone(),
            failures: Mutex::new(LogThrottle::once_in(FAILURE_LOG_INTERVAL)),
        }))))
    }

    /// Trace of a request, by its listener and its operation.
    #[inline]
    pub(crate) fn trace(
        &self,
        operation: (Listener, &'static str),
        headers: Option<&HeaderMap>,
        random: impl FnMut() -> u64,
    ) -> Trace {
        match &self.0 {
            None => Trace::default(),
            Some(otlp) => Trace::begin(otlp.share, operation, headers, random),
        }
    }

    /// Ends a trace with the answer to a request.
    #[inline]
    pub(crate) fn answered<E: std::error::Error>(&self, trace: Trace, answer: &Result<Answer, GateError<E>>) {
        self.end(trace, || span_attributes::answer(answer));
    }

    /// Ends a trace with the answer to a batch.
    #[inline]
    pub(crate) fn batch_answered<E: std::error::Error>(
        &self,
        trace: Trace,
        answer: &Result<Answer, GateError<E>>,
    ) {
        self.end(trace, || span_attributes::batch(answer));
    }

    /// Ends a trace with the verdict of an ad hoc limit.
    #[inline]
    pub(crate) fn limited<E: std::error::Error>(&self, trace: Trace, verdict: &Result<Verdict, E>) {
        self.end(trace, || span_attributes::verdict(verdict));
    }

    #[inline]
    fn end(&self, trace: Trace, outcome: impl FnOnce() -> SpanOutcome) {
        if let Some(exporter) = &self.0
            && let Some(span) = trace.end(outcome)
        {
            exporter.spans.push(span);
        }
    }

    /// Counts of spans, if a collector is set.
    pub(crate) fn spans(&self) -> Option<SpanCounts> {
        Some(self.0.as_ref()?.spans.counts())
    }
}

impl Exporter {
    /// Logs a failure, at most once per interval.
    pub(super) fn log_failure(&self, signal: &'static str, why: &str) {
        if let Some(times) = self.failures.lock().note() {
            let (endpoint, dropped) = (&*self.endpoint, self.spans.counts().dropped);
            tracing::warn!(
                signal,
                times,
                dropped,
                "telemetry: export to {endpoint} failed: {why}. Decisions are not affected; logged at most once a minute"
            );
        }
    }
}

/// Instance id: a random UUID, so that collectors do not mix processes of the same name.
fn instance() -> String {
    let mut id = [0; 16];
    // Without randomness all processes have the same id.
    let _zeros = getrandom::fill(&mut id);
    id[6] = id[6] & 0x0f | 0x40;
    id[8] = id[8] & 0x3f | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(id));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn settings(observe: &str) -> Settings {
        let policy = format!("version: 1\n{observe}\nrules: [{{ name: a, key: [b], limits: [1/s] }}]");
        Config::parse("test.yaml", &policy).unwrap_or_else(|errors| panic!("{errors}")).settings
    }

    #[test]
    fn an_endpoint_is_a_url_without_a_login() {
        assert!(Tracer::check(&settings("")).is_ok());
        assert!(Tracer::check(&settings("observe: { otlp: { endpoint: 'http://[::1]:4318' } }")).is_ok());
        // A login is refused, and not repeated.
        let error =
            Tracer::check(&settings("observe: { otlp: { endpoint: 'http://me:hunter2@collector' } }"));
        let error = error.expect_err("no address").to_string();
        assert_eq!(
            error,
            "observe.otlp: endpoint: invalid collector URL \"http://**********@collector\", expected one such as http://127.0.0.1:4318"
        );
    }

    #[test]
    fn instance_ids_are_unique() {
        let (one, other) = (instance(), instance());
        assert!(one != other && one.len() == 36 && one.as_bytes()[14] == b'4', "{one} {other}");
    }
}
