//! OpenTelemetry: spans of checks and the numbers of `/metrics`, sent to a collector over OTLP/HTTP.
//!
//! Nothing of it is in a program that was built without the feature `otlp`, and nothing of it is done without the setting.

#[cfg(feature = "otlp")]
mod client;
#[cfg(feature = "otlp")]
mod context;
// Compiled for tests as well, so that it stays compatible with the exporter.
#[cfg(any(test, not(feature = "otlp")))]
#[cfg_attr(feature = "otlp", allow(dead_code, reason = "it stands in for the exporter in other builds"))]
mod disabled;
#[cfg(feature = "otlp")]
mod endpoint;
#[cfg(feature = "otlp")]
mod export;
#[cfg(feature = "otlp")]
mod exporter;
#[cfg(feature = "otlp")]
mod measures;
#[cfg(feature = "otlp")]
mod messages;
#[cfg(feature = "otlp")]
mod span_attributes;
#[cfg(feature = "otlp")]
mod spans;
#[cfg(feature = "otlp")]
mod trace;
#[cfg(feature = "otlp")]
mod variables;

#[cfg(not(feature = "otlp"))]
pub(crate) use disabled::{Trace, Tracer, begin};
#[cfg(feature = "otlp")]
pub(crate) use {export::begin, exporter::Tracer, trace::Trace};
