//! Cost of telemetry: the same decisions with and without it, in turns.

pub mod gates;
pub mod inproc;
pub mod instructions;
pub mod served;
pub mod watchers;
