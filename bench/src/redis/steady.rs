//! Logs that are full while one entry leaves for every one that comes.
//!
//! The scripts ask the server for the time, so time cannot be moved by hand. Instead everyone's
//! requests come at an even pace, a little slower than the machine could take them, and the window
//! is chosen to hold nearly the quota at that pace.

use std::time::Duration;

use super::load::Load;
use super::measured::Measured;
use super::server::Server;
use super::turns::{Contender, Turns, cycle_time};
use super::{HOUR_MS, Scale};
use crate::report::Report;

/// Intended fullness of the logs. With nothing to spare, each delay would cause denials.
const FULL: f64 = 0.98;
/// Least fullness of a valid measurement: less would be another state than the intended one.
const AT_LEAST: f64 = 0.9;
/// Factors by which a cycle is longer than its contenders need while their logs are short. The
/// first is nearly always enough, except on a busy machine.
const SLACK: [f64; 4] = [1.8, 2.5, 4.0, 8.0];

/// A steady state: so many of each subject pass per window.
#[derive(Clone, Copy, Debug)]
pub struct Steady {
    /// The quota of the longest window.
    pub quota: u64,
    /// Load. A cycle over all subjects has to take more than the millisecond that separates two
    /// entries.
    pub load: Load,
    /// Scale of a benchmark.
    pub scale: Scale,
}

impl Steady {
    /// Measures the contenders that `make` gives for a window of so many milliseconds.
    ///
    /// # Panics
    /// If the state cannot be kept: then the figures would mean something else.
    pub fn measure(
        &self,
        report: &Report,
        server: &Server,
        make: &dyn Fn(u64) -> Vec<Box<dyn Contender>>,
    ) -> Measured {
        let unhindered = cycle_time(&mut make(HOUR_MS));
        for slack in SLACK {
            server.flush();
            let pace = unhindered.mul_f64(slack);
            let window_ms = (pace.as_secs_f64() * 1e3 * self.quota as f64 * FULL) as u64;
            let mut turns = Turns::new(server, make(window_ms), pace);
            turns.warm_up(self.quota as usize);
            if self.least_fullness(turns.measured(), window_ms) >= AT_LEAST {
                turns.run(self.scale.rounds, self.load.turns / self.scale.divisor as usize);
                let (admitted, full) =
                    (turns.measured().least_admitted(), self.least_fullness(turns.measured(), window_ms));
                let [admitted_pct, full_pct] = [admitted, full].map(|share| share * 100.0);
                report.say(&format!(
                    "window {window_ms} ms; at least {admitted_pct:.1} % let through, {full_pct:.1} % full"
                ));
                if admitted.min(full) >= AT_LEAST {
                    server.flush();
                    return turns.into_measured();
                }
            }
            eprintln!("the pace could not be kept: once more, slower");
        }
        panic!("the machine is too busy for an even pace");
    }

    /// Fullness of the least full contender.
    fn least_fullness(&self, measured: &Measured, window_ms: u64) -> f64 {
        let usage = measured.least_usage(Duration::from_millis(window_ms));
        usage as f64 / (self.quota * self.load.subjects) as f64
    }
}
