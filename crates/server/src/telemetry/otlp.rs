//! OpenTelemetry: spans of checks and the metrics of `/metrics`, sent to a collector over
//! OTLP/HTTP.
//!
//! Without the setting `observe.otlp` nothing is sampled or sent.

mod client;
mod context;
mod export;
mod exporter;
mod measures;
mod messages;
mod span_attributes;
mod spans;
mod trace;
mod variables;

pub(crate) use export::begin;
pub(crate) use exporter::Tracer;
pub(crate) use trace::Trace;
