//! Measurements of the turns.

use std::time::{Duration, Instant};

use super::turns::Tally;
use crate::middle::median;

/// Times of all contenders in all rounds.
#[derive(Debug)]
pub struct Measured {
    names: Vec<&'static str>,
    /// Measurements by contender, then by round.
    rounds: Vec<Vec<Tally>>,
    /// Admissions by contender: the time and the number.
    admitted: Vec<Vec<(Instant, usize)>>,
}

/// A figure, and the rounds with the smallest and the largest one.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The median of the rounds.
    pub median: f64,
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl Measured {
    /// Empty measurements of these contenders.
    pub fn of(names: impl Iterator<Item = &'static str>) -> Self {
        let names: Vec<_> = names.collect();
        let (rounds, admitted) = (vec![Vec::new(); names.len()], vec![Vec::new(); names.len()]);
        Self { names, rounds, admitted }
    }

    /// Records the admissions of a turn that just ended.
    pub fn note_admitted(&mut self, index: usize, admitted: usize) {
        self.admitted[index].push((Instant::now(), admitted));
    }

    /// Records a round.
    pub fn note_round(&mut self, tallies: Vec<Tally>) {
        self.rounds.iter_mut().zip(tallies).for_each(|(rounds, tally)| rounds.push(tally));
    }

    /// Names of the contenders, in their order.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Microseconds of the server per decision.
    pub fn cpu_us(&self, index: usize) -> f64 {
        self.figure(|of| of(index)).median
    }

    /// Ratio of the server's time for one contender to that for another.
    pub fn ratio(&self, one: usize, other: usize) -> Figure {
        self.figure(|of| of(one) / of(other))
    }

    /// A figure made of the server's microseconds per decision in the same round.
    pub fn figure(&self, make: impl Fn(&dyn Fn(usize) -> f64) -> f64) -> Figure {
        let of_round = |round: usize| {
            make(&|index| {
                let tally = &self.rounds[index][round];
                tally.cpu.as_secs_f64() * 1e6 / tally.decisions as f64
            })
        };
        let figures: Vec<f64> = (0..self.rounds[0].len()).map(of_round).collect();
        let low = figures.iter().copied().fold(f64::INFINITY, f64::min);
        let high = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Figure { median: median(figures), low, high }
    }

    /// Decisions per second while its turn lasted.
    pub fn per_second(&self, index: usize) -> f64 {
        let rates = self.rounds[index].iter().map(|round| round.decisions as f64 / round.wall.as_secs_f64());
        median(rates.collect())
    }

    /// Quantile of the round trip times, in microseconds.
    pub fn trip_us(&self, index: usize, share: f64) -> f64 {
        let mut trips: Vec<Duration> =
            self.rounds[index].iter().flat_map(|round| round.trips.iter().copied()).collect();
        trips.sort();
        trips[((trips.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6
    }

    /// The share of decisions that let the request pass, where it is smallest.
    pub fn least_admitted(&self) -> f64 {
        let share = |rounds: &Vec<Tally>| {
            let (admitted, decisions) =
                rounds.iter().fold((0, 0), |sum, round| (sum.0 + round.admitted, sum.1 + round.decisions));
            admitted as f64 / decisions as f64
        };
        self.rounds.iter().map(share).fold(f64::INFINITY, f64::min)
    }

    /// Fewest admissions of any contender within this time before its last turn.
    pub fn least_usage(&self, window: Duration) -> usize {
        let duration = |admitted: &Vec<(Instant, usize)>| {
            let (last, _) = admitted.last().expect("every contender had a turn");
            let within = admitted.iter().rev().take_while(|(at, _)| *last - *at < window);
            within.map(|(_, admitted)| admitted).sum()
        };
        self.admitted.iter().map(duration).min().expect("there are contenders")
    }
}

impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} ({:.2}-{:.2})", self.median, self.low, self.high)
    }
}
