//! A contender that is asked about one subject after the other, over connections of its own.

use std::time::Instant;

use super::connection::Connection;
use super::load::Load;
use super::question::Question;
use super::server::Server;
use super::turns::{Contender, Tally};

/// Commands that are sent in one go.
pub(super) struct Batch {
    packed: Vec<u8>,
    replies: usize,
    decisions: usize,
}

impl Batch {
    /// Commands for all of these subjects.
    pub(super) fn of(question: &Question, ids: &[u64]) -> Self {
        let commands = ids.chunks(question.per_command);
        let replies = commands.len();
        let packed = commands.flat_map(|ids| (question.command)(ids)).collect();
        Self { packed, replies, decisions: ids.len() }
    }

    /// Notes what the server answers.
    fn receive(&self, connection: &mut Connection, question: &Question, tally: &mut Tally) {
        connection.receive(self.replies, |reply| tally.admitted += (question.admitted)(reply));
        tally.decisions += self.decisions;
    }
}

/// Sends the batches over the connections in turn, each as soon as its connection is free, so that
/// the server always has something to do.
pub(super) fn send_all(
    connections: &mut [Connection],
    question: &Question,
    batches: &[Batch],
    tally: &mut Tally,
) {
    let count = connections.len();
    let mut sent = vec![Instant::now(); count];
    for (index, batch) in batches.iter().take(count).enumerate() {
        sent[index] = Instant::now();
        connections[index].send(&batch.packed);
    }
    for (index, batch) in batches.iter().enumerate() {
        let (connection, sent) = (&mut connections[index % count], &mut sent[index % count]);
        batch.receive(connection, question, tally);
        tally.trips.push(sent.elapsed());
        if let Some(next) = batches.get(index + count) {
            *sent = Instant::now();
            connection.send(&next.packed);
        }
    }
}

/// Asks about all subjects in their order. All commands are packed beforehand.
pub struct Sweep {
    question: Question,
    connections: Vec<Connection>,
    batches: Vec<Batch>,
}

impl Sweep {
    /// Under this load.
    pub fn new(server: &Server, question: Question, load: Load) -> Self {
        let ids: Vec<u64> = (0..load.subjects).collect();
        let batches = ids.chunks(load.in_flight).map(|ids| Batch::of(&question, ids)).collect();
        Self { question, connections: load.connect(server), batches }
    }

    /// All of these, each under the same load, as contenders.
    pub fn all(server: &Server, questions: Vec<Question>, load: Load) -> Vec<Box<dyn Contender>> {
        let sweep = |question| Box::new(Self::new(server, question, load)) as Box<dyn Contender>;
        questions.into_iter().map(sweep).collect()
    }
}

impl Contender for Sweep {
    fn name(&self) -> &'static str {
        self.question.name
    }

    fn sweep(&mut self, tally: &mut Tally) {
        send_all(&mut self.connections, &self.question, &self.batches, tally);
    }
}
