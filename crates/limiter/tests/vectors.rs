//! The golden decisions on the in-memory store, in every way that a request can reach it.

mod decides;
mod traces;

use decides::InMemory;
use traces::{Way, run_all};

#[test]
fn every_trace() {
    run_all(&[Way::Limiter, Way::Together, Way::Apart], InMemory::new);
}
