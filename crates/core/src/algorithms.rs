//! Algorithms: one module per way to count, each an implementation of [`History`](crate::History).

pub(crate) mod counter;
pub(crate) mod fixed;
pub(crate) mod gcra;
pub(crate) mod in_flight;
pub(crate) mod log;
