//! Simulated services under overload: where adaptive limits settle.

pub mod model;
pub mod netflix;
pub mod scenarios;
pub mod summary;

use std::ops::Range;
use std::time::{Duration, Instant};

use slidegate::adaptive::{Adaptive, AdaptiveLimiter, ConcurrencySlot, RequestCompletion};

use model::{ConcurrencyControl, ServiceModel, StepResult, Traffic};
use netflix::{Gradient2, Vegas, Windowed};
use scenarios::Scenario;
use summary::ScenarioSummary;

/// Limiter of a simulation.
#[derive(Clone, Copy, Debug)]
pub enum Contender {
    /// Our gradient with its defaults.
    Gradient,
    /// Our AIMD with this threshold in milliseconds.
    Aimd(u64),
    /// Gradient2 with this tolerance.
    Gradient2(f64),
    /// Vegas.
    Vegas,
}

impl Contender {
    /// Name, as in the tables.
    pub fn name(self) -> String {
        match self {
            Self::Gradient => "gradient".to_owned(),
            Self::Aimd(threshold_ms) => format!("AIMD, {threshold_ms} ms"),
            Self::Gradient2(tolerance) => format!("Gradient2, tolerance {tolerance}"),
            Self::Vegas => "Vegas".to_owned(),
        }
    }

    /// Figures over many seeds.
    pub fn summarize(self, scenario: &Scenario, seeds: Range<u64>) -> ScenarioSummary {
        let runs: Vec<Vec<StepResult>> = seeds.map(|seed| self.run(scenario, seed)).collect();
        ScenarioSummary::of(scenario, &runs)
    }

    /// Results of all steps of a scenario.
    pub fn run(self, scenario: &Scenario, seed: u64) -> Vec<StepResult> {
        let initial = scenario.initial;
        match self {
            Self::Gradient => run(Ours::gradient(scenario), scenario, seed),
            Self::Aimd(threshold_ms) => {
                let aimd = Adaptive::aimd(Duration::from_millis(threshold_ms)).initial(initial);
                run(Ours::new(aimd.build().expect("valid settings")), scenario, seed)
            }
            Self::Gradient2(tolerance) => {
                run(Windowed::new(Gradient2::new(tolerance, initial)), scenario, seed)
            }
            Self::Vegas => run(Windowed::new(Vegas::new(initial, seed)), scenario, seed),
        }
    }
}

fn run<C: ConcurrencyControl>(mut control: C, scenario: &Scenario, seed: u64) -> Vec<StepResult> {
    let mut model = ServiceModel::new(scenario.service_time, seed);
    scenario.steps.iter().map(|step| model.run(&mut control, step)).collect()
}

/// [`AdaptiveLimiter`] in virtual time.
struct Ours {
    limiter: AdaptiveLimiter,
    origin: Instant,
}

impl Ours {
    fn new(limiter: AdaptiveLimiter) -> Self {
        Self { limiter, origin: Instant::now() }
    }

    fn gradient(scenario: &Scenario) -> Self {
        let partitions: &[Traffic] = scenario.steps.first().map_or(&[], |step| step.traffic);
        let shares = partitions.iter().filter(|traffic| traffic.share_percent > 0);
        let adaptive = shares.fold(Adaptive::gradient().initial(scenario.initial), |adaptive, traffic| {
            adaptive.partition(traffic.partition, f64::from(traffic.share_percent) / 100.0)
        });
        Self::new(adaptive.build().expect("valid settings"))
    }

    fn at(&self, now_ns: u64) -> Instant {
        self.origin + Duration::from_nanos(now_ns)
    }
}

impl ConcurrencyControl for Ours {
    type Slot = ConcurrencySlot;

    fn try_acquire(&mut self, partition: &str, now_ns: u64) -> Option<ConcurrencySlot> {
        self.limiter.try_acquire(partition, self.at(now_ns))
    }

    fn release(&mut self, slot: ConcurrencySlot, now_ns: u64) {
        self.limiter.release(slot, self.at(now_ns), RequestCompletion::Success);
    }

    fn limit(&self) -> u32 {
        self.limiter.limit()
    }
}

#[cfg(test)]
mod tests {
    use super::Contender::{Aimd, Gradient, Gradient2};
    use super::model::StepResult;
    use super::scenarios::{HALVED, OVERSIZED, PARTITIONS, SLOWER};
    use super::summary::ScenarioSummary;

    /// The short version of `scripts/bench adaptive`, which has more scenarios and seeds.
    const SEEDS: std::ops::Range<u64> = 0..3;

    fn assert_settled(name: &str, seed: u64, results: &[StepResult]) {
        for (step, result) in results.iter().enumerate() {
            let (limit, throughput) = (result.limit(), result.throughput);
            let near = result.is_settled() && throughput >= 0.85;
            assert!(near, "{name}, seed {seed}, step {step}: limit {limit}, throughput {throughput}");
            assert_eq!(result.undercut, 0, "{name}, seed {seed}, step {step}");
        }
    }

    #[test]
    fn the_gradient_settles_within_a_fifth_of_the_capacity() {
        for scenario in [HALVED, SLOWER, OVERSIZED, PARTITIONS] {
            for seed in SEEDS {
                assert_settled(scenario.name, seed, &Gradient.run(&scenario, seed));
            }
        }
    }

    #[test]
    fn the_gradient_is_nowhere_further_from_the_capacity_than_gradient2() {
        let error = |result: &StepResult| (result.limit() - 1.0).abs();
        for seed in SEEDS {
            let ours = Gradient.run(&HALVED, seed);
            for (step, (ours, peer)) in ours.iter().zip(Gradient2(1.5).run(&HALVED, seed)).enumerate() {
                let (ours, peer) = (error(ours), error(&peer));
                assert!(ours <= peer, "seed {seed}, step {step}: {ours} off, Gradient2 {peer}");
            }
        }
    }

    /// A queue of a tenth of the capacity makes latency a tenth longer.
    #[test]
    fn aimd_settles_where_latency_meets_the_threshold() {
        for seed in SEEDS {
            assert_settled("AIMD", seed, &Aimd(11).run(&HALVED, seed));
        }
    }

    /// A run with one step that does not settle is one of many steps, and a run that fails.
    #[test]
    fn a_run_settles_with_all_of_its_steps() {
        let result = |limit| StepResult {
            limits: vec![limit; 9],
            throughput: 1.0,
            throughputs: Vec::new(),
            undercut: 0,
        };
        let settled = vec![result(1.0), result(0.9), result(1.2)];
        let stuck = vec![result(1.0), result(0.04), result(1.1)];
        let summary = ScenarioSummary::of(&HALVED, &[settled.clone(), settled.clone(), settled, stuck]);
        assert_eq!((summary.settled_share(), summary.settled_runs_share()), (11.0 / 12.0, 0.75));
    }

    #[test]
    fn a_seed_gives_the_same_run() {
        let limits = |seed| Gradient.run(&HALVED, seed).into_iter().flat_map(|result| result.limits);
        assert!(limits(1).eq(limits(1)) && !limits(1).eq(limits(2)));
    }
}
