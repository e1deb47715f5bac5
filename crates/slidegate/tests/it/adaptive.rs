//! Adaptive concurrency: simulations of a service, shares of partitions, settings.

mod gradient2;
mod model;
mod partitions;
mod settings;
mod simulation;
