//! The golden decisions on the in-memory store, in every way that a request can reach it.

use crate::drivers::MemoryDriver;
use crate::vectors::{Way, run_all};

#[test]
fn every_trace() {
    run_all(&[Way::Limiter, Way::Together, Way::Apart], MemoryDriver::new);
}
