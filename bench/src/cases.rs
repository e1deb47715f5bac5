//! Cases of a comparison.

pub mod bytes;
pub mod growth;
pub mod logs;
pub mod matrix;
pub mod two_limits;

use crate::measure::Plan;

/// Scale of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    rounds: usize,
    divisor: usize,
    /// The key counts of the matrix.
    pub key_counts: &'static [u64],
}

impl Scale {
    /// Everything.
    pub const FULL: Self = Self { rounds: 11, divisor: 1, key_counts: &[1, 1_000, 1_000_000, 10_000_000] };
    /// Fewer and shorter rounds, and no ten million keys.
    pub const QUICK: Self = Self { rounds: 7, divisor: 2, key_counts: &[1, 1_000, 1_000_000] };

    /// Turns of 5 to 50 ms: long against a clock's resolution, short against what else the machine
    /// does.
    fn plan(&self, keys: u64, threads: usize) -> Plan {
        // Where a turn takes little time there can be more of them.
        let rounds = if keys <= 1_000 { 2 * self.rounds - 1 } else { self.rounds };
        Plan { rounds, slice: 100_000 / self.divisor, threads }
    }

    /// Arrivals for all rounds of a plan, without repeating any.
    fn arrivals(&self, keys: u64, threads: usize) -> usize {
        let plan = self.plan(keys, threads);
        plan.rounds * plan.threads * plan.slice * 5 / 4
    }
}

/// The worst of several figures, none of which may be too large.
#[derive(Clone, Copy, Default, Debug)]
struct Worst(Option<f64>);

impl Worst {
    fn note(&mut self, figure: f64) {
        self.0 = Some(self.0.map_or(figure, |worst| worst.max(figure)));
    }
}
