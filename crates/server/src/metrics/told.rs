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

#[cfg(test)]
pub(super) const FAMILIES: &[&dyn Described] = &[&VIEWERS, &DENIAL_LOG, &SPANS];

pub(super) fn gather<C: Clock>(sink: &mut impl Sink, app: &App<C>) {
    VIEWERS.put(sink, [], app.events().viewers());
    let log = app.denial_log();
    DENIAL_LOG.put(sink, ["written"], log.lines);
    DENIAL_LOG.put(sink, ["left_out"], log.left_out);
    if let Some(spans) = app.telemetry.spans() {
        SPANS.put(sink, ["sent"], spans.sent);
        SPANS.put(sink, ["dropped"], spans.dropped);
    }
}
