//! Metrics of event streams, logs and traces.

use std::sync::atomic::Ordering;

use slidegate::Clock;

use crate::runtime::Runtime;
use crate::telemetry::log_writer::LogWriter;
#[cfg(test)]
use crate::telemetry::metrics::family::MetricDescription;
use crate::telemetry::metrics::family::{Family, Sink};

static VIEWERS: Family<0> =
    Family::gauge("console_viewers", [], "Open event streams: consoles and other readers of /v1/events");

static DENIAL_LOG: Family<1> = Family::counter(
    "denial_log_lines",
    ["outcome"],
    "Denials in the denial log by outcome: written as a line, or left_out because there were too many",
);
static SPANS: Family<1> = Family::counter(
    "otlp_spans",
    ["outcome"],
    "Spans for the OpenTelemetry collector by outcome: sent, dropped",
);

static REFUSALS: Family<1> = Family::counter(
    "audit_refusals",
    ["outcome"],
    "Unauthenticated changes in the audit log by outcome: written as a line, or left_out because there were too many",
);
static LOG: Family<1> = Family::counter(
    "log_lines",
    ["outcome"],
    "Log lines by outcome: written, dropped (stderr is read too slowly), failed (stderr is closed)",
);

#[cfg(test)]
pub(super) const FAMILIES: &[&dyn MetricDescription] = &[&VIEWERS, &DENIAL_LOG, &REFUSALS, &LOG, &SPANS];

pub(super) fn gather<C: Clock>(sink: &mut dyn Sink, runtime: &Runtime<C>) {
    VIEWERS.put(sink, [], runtime.viewers.load(Ordering::Relaxed));
    let log = runtime.denial_log();
    DENIAL_LOG.put(sink, ["written"], log.lines);
    DENIAL_LOG.put(sink, ["left_out"], log.left_out);
    let refusals = runtime.audit_budget.stats();
    REFUSALS.put(sink, ["written"], refusals.written);
    REFUSALS.put(sink, ["left_out"], refusals.left_out);
    if let Some(log) = runtime.log.as_ref().map(LogWriter::stats) {
        LOG.put(sink, ["written"], log.written);
        LOG.put(sink, ["dropped"], log.dropped);
        LOG.put(sink, ["failed"], log.failed);
    }
    if let Some(spans) = runtime.decider().tracer.spans() {
        SPANS.put(sink, ["sent"], spans.sent);
        SPANS.put(sink, ["dropped"], spans.dropped);
    }
}
