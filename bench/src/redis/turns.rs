//! The server's time per decision, measured in turns.
//!
//! In a cycle every contender decides once about each of its keys, one contender right after the
//! other. A round is many cycles; a ratio is taken within a round, and what counts is the median of
//! these ratios.

use std::time::{Duration, Instant};

use super::measured::Measured;
use super::server::Server;

/// What takes turns.
pub trait Contender {
    /// Name in the tables.
    fn name(&self) -> &'static str;

    /// What comes right before a turn and does not count.
    fn warm_up(&mut self) {}

    /// Takes a turn: decides, and notes what came out.
    fn sweep(&mut self, tally: &mut Tally);
}

/// What came out of some turns of one contender.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    /// How many requests were decided.
    pub decisions: usize,
    /// Number of admissions.
    pub admitted: usize,
    /// Time of each round trip.
    pub trips: Vec<Duration>,
    /// CPU time of the server.
    pub cpu: Duration,
    /// Wall time.
    pub wall: Duration,
}

impl Tally {
    /// Takes the time of one turn.
    fn time(&mut self, server: &Server, contender: &mut dyn Contender) {
        contender.warm_up();
        let (cpu, start) = (server.cpu(), Instant::now());
        contender.sweep(self);
        self.wall += start.elapsed();
        self.cpu += server.cpu() - cpu;
    }
}

/// Contenders that take turns at an even pace.
pub struct Turns<'a> {
    server: &'a Server,
    contenders: Vec<Box<dyn Contender>>,
    measured: Measured,
    /// Time between the starts of two cycles, if there is nothing to catch up with.
    pace: Duration,
    next: Instant,
}

impl<'a> Turns<'a> {
    /// None has had a turn yet.
    pub fn new(server: &'a Server, contenders: Vec<Box<dyn Contender>>, pace: Duration) -> Self {
        let measured = Measured::of(contenders.iter().map(|contender| contender.name()));
        Self { server, contenders, measured, pace, next: Instant::now() }
    }

    /// Runs cycles that do not count, but for what was let through.
    pub fn warm_up(&mut self, cycles: usize) {
        self.cycles(0, cycles);
    }

    /// Runs rounds that count.
    pub fn run(&mut self, rounds: usize, cycles: usize) {
        for round in 0..rounds {
            let tallies = self.cycles(round, cycles);
            self.measured.note_round(tallies);
        }
    }

    /// Measurements so far.
    pub fn measured(&self) -> &Measured {
        &self.measured
    }

    /// Measurements.
    pub fn into_measured(self) -> Measured {
        self.measured
    }

    fn cycles(&mut self, round: usize, cycles: usize) -> Vec<Tally> {
        let count = self.contenders.len();
        let mut tallies = vec![Tally::default(); count];
        for _ in 0..cycles {
            std::thread::sleep(self.next.saturating_duration_since(Instant::now()));
            self.next += self.pace;
            for turn in 0..count {
                // Nobody always comes after the same one, which may have left the caches in a
                // better or worse state.
                let index = (round + turn) % count;
                let before = tallies[index].admitted;
                tallies[index].time(self.server, self.contenders[index].as_mut());
                self.measured.note_admitted(index, tallies[index].admitted - before);
            }
        }
        tallies
    }
}

/// Time of a cycle without pauses: the median of a few.
pub fn cycle_time(contenders: &mut [Box<dyn Contender>]) -> Duration {
    const CYCLES: usize = 21;
    let mut took: Vec<Duration> = (0..CYCLES)
        .map(|_| {
            let start = Instant::now();
            contenders.iter_mut().for_each(|contender| contender.sweep(&mut Tally::default()));
            start.elapsed()
        })
        .collect();
    took.sort();
    took[CYCLES / 2]
}
