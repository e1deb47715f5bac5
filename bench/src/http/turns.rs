//! Rounds in which everyone has one turn, right after each other.

use std::time::{Duration, Instant};

use super::Scale;
use crate::middle::median;
use crate::report::{Report, grouped};

/// A server with a core to itself is busy for at least this share of the time.
const BUSY: f64 = 0.9;

/// Contender that takes turns.
pub trait TakesTurns {
    /// Name in the tables.
    fn name(&self) -> &'static str;

    /// Sends all requests that precede the measurement, and checks the answers closely.
    fn warm_up(&mut self);

    /// Takes a turn of at least so many requests.
    fn turn(&mut self, at_least: usize) -> Turn;
}

/// Time of a turn.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Requests, all of them answered.
    pub requests: usize,
    /// CPU time of the server.
    pub cpu: Duration,
    /// Wall time.
    pub wall: Duration,
}

impl Turn {
    /// Sends at least this many requests, and measures them. `cpu` returns the CPU time of the
    /// server so far.
    pub fn timed(at_least: usize, cpu: impl Fn() -> Duration, mut ask: impl FnMut(usize) -> usize) -> Self {
        // Another one had the caches before.
        ask(at_least / 8);
        let (before, start) = (cpu(), Instant::now());
        let requests = ask(at_least);
        let wall = start.elapsed();
        Self { requests, cpu: cpu() - before, wall }
    }
}

/// Times of all turns.
#[derive(Debug)]
pub struct Measured {
    names: Vec<&'static str>,
    /// Measurements by contender, then by round.
    turns: Vec<Vec<Turn>>,
}

impl Measured {
    /// Lets contenders take turns.
    pub fn of(mut contenders: Vec<impl TakesTurns>, scale: Scale) -> Self {
        let count = contenders.len();
        contenders.iter_mut().for_each(TakesTurns::warm_up);
        let mut turns = vec![Vec::new(); count];
        for round in 0..scale.rounds {
            for turn in 0..count {
                // Nobody always comes after the same one.
                let index = (round + turn) % count;
                turns[index].push(contenders[index].turn(scale.requests));
            }
        }
        Self { names: contenders.iter().map(TakesTurns::name).collect(), turns }
    }

    /// Together with other rounds of the same contenders.
    pub fn and(mut self, other: Self) -> Self {
        self.turns.iter_mut().zip(other.turns).for_each(|(turns, more)| turns.extend(more));
        self
    }

    /// Requests per second.
    pub fn per_second(&self, index: usize) -> f64 {
        median(self.turns[index].iter().map(Turn::per_second).collect())
    }

    /// Ratio of requests per second of one contender to another, in the same round.
    pub fn ratio(&self, one: usize, other: usize) -> f64 {
        self.median_of(one, other, |one, other| one.per_second() / other.per_second())
    }

    /// Ratio of CPU time per request of one contender to another, in the same round.
    pub fn cpu_ratio(&self, one: usize, other: usize) -> f64 {
        self.median_of(one, other, |one, other| one.cpu_us() / other.cpu_us())
    }

    fn median_of(&self, one: usize, other: usize, ratio: impl Fn(&Turn, &Turn) -> f64) -> f64 {
        let rounds = self.turns[one].iter().zip(&self.turns[other]);
        median(rounds.map(|(one, other)| ratio(one, other)).collect())
    }

    /// A table; ratios are to the contender with this index.
    pub fn say(&self, report: &Report, base: usize) {
        report.row("", &["per second", "ratio", "server us each", "ratio", "core busy"].map(String::from));
        for (index, name) in self.names.iter().enumerate() {
            let of_turns = |what: fn(&Turn) -> f64| median(self.turns[index].iter().map(what).collect());
            let cells = [
                grouped(self.per_second(index) as u64),
                format!("{:.2}x", self.ratio(index, base)),
                format!("{:.2}", of_turns(Turn::cpu_us)),
                format!("{:.2}x", self.cpu_ratio(index, base)),
                format!("{:.0} %", of_turns(Turn::busy) * 100.0),
            ];
            report.row(name, &cells);
        }
        let busy = self.turns.iter().flatten().map(Turn::busy).collect();
        if median(busy) < BUSY {
            report.say("the server did not have its core to itself: other programs run, and requests per second are noise");
        }
    }
}

impl Turn {
    /// Requests per second.
    pub fn per_second(&self) -> f64 {
        self.requests as f64 / self.wall.as_secs_f64()
    }

    /// Microseconds of the server's core for a request.
    pub fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.requests as f64
    }

    /// The share of the time in which the server had its core. What is missing to 1 is the load's
    /// fault, or the machine's.
    pub fn busy(&self) -> f64 {
        self.cpu.as_secs_f64() / self.wall.as_secs_f64()
    }
}
