//! Adaptive concurrency: shares of partitions, settings. `slidegate-bench` simulates services.

pub(crate) mod partitions;
mod settings;
