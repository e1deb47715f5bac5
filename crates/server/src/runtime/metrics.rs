//! Metrics of the server, gathered on request from the counters of its parts.
//!
//! There is no client library: each part has its counters, which are only read here.

mod connections;
mod decisions;
mod exporters;
mod permits;
mod policy;
mod process;
#[cfg(test)]
mod reference;
mod store;

use slidegate::Clock;

use super::Runtime;
pub(crate) use crate::telemetry::metrics::family::Sink;

/// Gathers all samples, metric by metric.
pub(crate) fn gather<C: Clock>(runtime: &Runtime<C>, sink: &mut dyn Sink) {
    process::gather(sink, runtime);
    decisions::gather(sink, runtime);
    policy::gather(sink, runtime);
    permits::gather(sink, runtime);
    store::gather(sink, runtime.gate().store());
    connections::gather(sink, runtime);
    exporters::gather(sink, runtime);
}
