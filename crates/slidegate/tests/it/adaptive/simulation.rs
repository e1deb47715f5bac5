//! Limits that settle at the capacity of a simulated service, also after it changes.

use std::time::{Duration, Instant};

use slidegate::adaptive::{Adaptive, AdaptiveLimiter};

use super::gradient2::Gradient2;
use super::model::{Ours, Phase, Settled, simulate};

/// Seeds of the runs, other than those with which the constants of the algorithm were chosen.
const SEEDS: std::ops::Range<u64> = 3_000..3_006;

/// Capacity that halves and comes back.
const STEPS: [Phase; 3] = [phase(40, 10.0), phase(20, 10.0), phase(40, 10.0)];

const fn phase(capacity: usize, service_ms: f64) -> Phase {
    Phase { capacity, service_ms, length_s: 45 }
}

fn run(limiter: AdaptiveLimiter, phases: &[Phase], seed: u64) -> Vec<Settled> {
    simulate(&mut Ours { limiter, origin: Instant::now() }, phases, seed)
}

fn gradient() -> AdaptiveLimiter {
    Adaptive::gradient().build().expect("the defaults are valid")
}

fn assert_settled(name: &str, seed: u64, settled: &[Settled]) {
    for (phase, settled) in settled.iter().enumerate() {
        let near = settled.error() <= 0.2 && settled.throughput >= 0.9;
        assert!(near, "{name}, seed {seed}, phase {phase}: {settled:?}");
    }
}

#[test]
fn the_gradient_settles_within_a_fifth_of_the_capacity_after_it_changes() {
    for seed in SEEDS {
        assert_settled("gradient", seed, &run(gradient(), &STEPS, seed));
    }
}

#[test]
fn the_gradient_is_nowhere_further_from_the_capacity_than_gradient2() {
    for seed in SEEDS {
        let ours = run(gradient(), &STEPS, seed);
        // Its default tolerance, and ours.
        for tolerance in [1.5, 1.07] {
            let reference = simulate(&mut Gradient2::new(tolerance), &STEPS, seed);
            for (phase, (ours, reference)) in ours.iter().zip(&reference).enumerate() {
                let no_worse = ours.error() <= reference.error();
                assert!(
                    no_worse,
                    "seed {seed}, tolerance {tolerance}, phase {phase}: {ours:?}, {reference:?}"
                );
            }
        }
    }
}

#[test]
fn the_gradient_tells_slower_requests_from_a_queue() {
    let phases = [phase(40, 10.0), phase(40, 20.0), phase(40, 10.0)];
    for seed in SEEDS {
        assert_settled("slower requests", seed, &run(gradient(), &phases, seed));
    }
}

#[test]
fn a_gradient_that_starts_far_above_the_capacity_finds_it_within_two_minutes() {
    for seed in SEEDS {
        let limiter = Adaptive::gradient().initial(400).build().expect("400 is below the maximum");
        let phases = [Phase { length_s: 120, ..phase(40, 10.0) }];
        assert_settled("initial 400", seed, &run(limiter, &phases, seed));
    }
}

/// A queue of a tenth of the capacity makes latency a tenth longer.
#[test]
fn aimd_settles_where_latency_meets_the_threshold() {
    for seed in SEEDS {
        let limiter = Adaptive::aimd(Duration::from_millis(11)).build().expect("the defaults are valid");
        assert_settled("AIMD", seed, &run(limiter, &STEPS, seed));
    }
}
