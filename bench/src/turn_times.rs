//! Contenders in one process that take turns, timed by the CPU time of this thread.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::middle::median;

/// Nanoseconds per request of every contender, round by round.
#[derive(Debug)]
pub struct TurnTimes {
    rounds: Vec<Vec<f64>>,
}

/// Contender that takes turns.
pub trait Turn {
    /// Makes ready what the next run takes, untimed.
    fn prepare(&mut self) {}

    /// Runs its requests.
    fn run(&mut self);
}

impl<F: FnMut()> Turn for F {
    fn run(&mut self) {
        self();
    }
}

impl TurnTimes {
    /// Runs the contenders in turns; each runs this many requests per turn, once to warm the caches
    /// and once to be timed.
    pub fn of(rounds: usize, requests: usize, contenders: &mut [&mut dyn Turn]) -> Self {
        let mut times = Vec::with_capacity(rounds);
        for round in 0..rounds {
            let mut of_round = vec![0.0; contenders.len()];
            for turn in 0..contenders.len() {
                // None always runs after the same other one.
                let index = (round + turn) % contenders.len();
                let contender = &mut contenders[index];
                contender.prepare();
                contender.run();
                contender.prepare();
                let start = thread_time();
                contender.run();
                of_round[index] = (thread_time() - start).as_nanos() as f64 / requests as f64;
            }
            times.push(of_round);
        }
        Self { rounds: times }
    }

    /// Median time of a contender.
    pub fn ns(&self, contender: usize) -> f64 {
        self.median(|round| round[contender])
    }

    /// Median over the rounds of a figure that is computed within each round.
    pub fn median(&self, figure: impl Fn(&[f64]) -> f64) -> f64 {
        median(self.rounds.iter().map(|round| figure(round)).collect())
    }
}

/// CPU time of this thread. It stands still while another program has the core, so that what else
/// the machine does counts less.
pub fn thread_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().expect("no thread has run for a negative time")
}
