//! A contender that is asked about subjects in any order, in a database of its own.

use super::connection::Connection;
use super::load::Load;
use super::question::Question;
use super::server::Server;
use super::sweep::{Batch, send_all};
use super::turns::{Contender, Tally};
use crate::workload::Random;

/// A database with a key for every subject.
pub struct Population {
    question: Question,
    connections: Vec<Connection>,
    subjects: u64,
    turn: usize,
    random: Random,
}

/// Place and number of the keys.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The database: each has a table of its own.
    pub database: usize,
    /// Number of subjects.
    pub subjects: u64,
    /// Decisions per turn.
    pub turn: usize,
}

impl Population {
    /// Decides once for each subject, so that all keys exist.
    pub fn new(server: &Server, question: Question, place: Place) -> Self {
        let Place { database, subjects, turn } = place;
        let mut connections = Load::PIPELINED.connect(server);
        connections.iter_mut().for_each(|connection| connection.run(&["SELECT", &database.to_string()]));
        let mut population = Self { question, connections, subjects, turn, random: Random::seeded(subjects) };
        let mut tally = Tally::default();
        let ids: Vec<u64> = (0..subjects).collect();
        ids.chunks(turn).for_each(|ids| population.ask(ids, &mut tally));
        let name = population.question.name;
        assert_eq!(tally.admitted, tally.decisions, "{name}: everyone may come once");
        population
    }

    fn ask_any(&mut self, decisions: usize, tally: &mut Tally) {
        let ids: Vec<u64> = (0..decisions).map(|_| self.random.below(self.subjects)).collect();
        self.ask(&ids, tally);
    }

    fn ask(&mut self, ids: &[u64], tally: &mut Tally) {
        let batches = ids.chunks(Load::PIPELINED.in_flight);
        let batches: Vec<Batch> = batches.map(|ids| Batch::of(&self.question, ids)).collect();
        send_all(&mut self.connections, &self.question, &batches, tally);
    }
}

impl Contender for Population {
    fn name(&self) -> &'static str {
        self.question.name
    }

    /// The others have just emptied the caches. In use nobody comes in between.
    fn warm_up(&mut self) {
        self.ask_any(self.turn / 4, &mut Tally::default());
    }

    fn sweep(&mut self, tally: &mut Tally) {
        self.ask_any(self.turn, tally);
    }
}
