//! Metrics of the process.

use slidegate::Clock;

use crate::runtime::Runtime;
#[cfg(test)]
use crate::telemetry::metrics::family::MetricDescription;
use crate::telemetry::metrics::family::{Family, Sink};

static BUILD: Family<1> = Family::info("build", ["version"], "Version of the program");
static READY: Family<0> = Family::gauge("ready", [], "1 until shutdown begins");
static WAITING: Family<0> = Family::gauge("waiting", [], "Requests in progress that may wait in a queue");

#[cfg(test)]
pub(super) const FAMILIES: &[&dyn MetricDescription] = &[&BUILD, &READY, &WAITING];

pub(super) fn gather<C: Clock>(sink: &mut dyn Sink, runtime: &Runtime<C>) {
    BUILD.put(sink, [env!("CARGO_PKG_VERSION")], 1_u64);
    READY.put(sink, [], runtime.is_ready());
    WAITING.put(sink, [], runtime.waiting());
}
