//! Telemetry of decisions in memory.

mod record;
mod top_k;
