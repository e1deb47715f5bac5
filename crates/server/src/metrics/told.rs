//! Who else is told what happens.

use slidegate::Clock;

#[cfg(test)]
use super::family::Described;
use super::family::{Family, Sink};
use crate::app::App;

static VIEWERS: Family<0> = Family::gauge(
    "console_viewers",
    [],
    "Streams of events that are open: consoles, and whoever reads /v1/events",
);

static DENIAL_LOG: Family<1> = Family::counter(
    "denial_log_lines",
    ["outcome"],
    "Denials for the log: written as a line, or left_out because there were too many",
);
static SPANS: Family<1> =
    Family::counter("otlp_spans", ["outcome"], "Spans for a collector of OpenTelemetry: sent, or dropped");

static REFUSALS: Family<1> = Family::counter(
    "audit_refusals",
    ["outcome"],
    "Changes refused without authentication, in the audit log: written as a line, or left_out because there were too many",
);
static LOG: Family<1> = Family::counter(
    "log_lines",
    ["outcome"],
    "Lines of the log: written, dropped because stderr is read too slowly, or failed because it is closed",
);

#[cfg(test)]
pub(super) const FAMILIES: &[&dyn Described] = &[&VIEWERS, &DENIAL_LOG, &REFUSALS, &LOG, &SPANS];

pub(super) fn gather<C: Clock>(sink: &mut impl Sink, app: &App<C>) {
    VIEWERS.put(sink, [], app.events().viewers());
    let log = app.denial_log();
    DENIAL_LOG.put(sink, ["written"], log.lines);
    DENIAL_LOG.put(sink, ["left_out"], log.left_out);
    let refusals = app.refusals().stats();
    REFUSALS.put(sink, ["written"], refusals.written);
    REFUSALS.put(sink, ["left_out"], refusals.left_out);
    if let Some(log) = app.log_stats() {
        LOG.put(sink, ["written"], log.written);
        LOG.put(sink, ["dropped"], log.dropped);
        LOG.put(sink, ["failed"], log.failed);
    }
    if let Some(spans) = app.telemetry.spans() {
        SPANS.put(sink, ["sent"], spans.sent);
        SPANS.put(sink, ["dropped"], spans.dropped);
    }
}
