//! Cost of a larger number of keys, beside its cost for a plain INCR.

use super::super::population::{Place, Population};
use super::super::question::Question;
use super::super::server::Server;
use super::super::turns::{Contender, Turns};
use super::super::{HOUR_MS, Scale, ours};
use crate::ours::counter_ms;
use crate::report::{Must, Report, grouped};
use std::time::Duration;

const FEW: u64 = 1_000;
const AMPLE: u32 = 1_000_000;
/// Decisions per turn: short, so that what else the machine does meets all of them.
const TURN: usize = 4_000;
/// Turns per round.
const TURNS: usize = 4;

/// Measures the counter.
pub fn run(report: &mut Report, server: &Server, scale: Scale) {
    let many = scale.many;
    report.say(&format!("\nserver time per decision, uniform over {FEW} and over {} keys", grouped(many)));
    let question = || ours::single(server, "slidegate counter", &[counter_ms(AMPLE, HOUR_MS)]);
    let populate = |database, question: Question| -> Box<dyn Contender> {
        let subjects = if database % 2 == 0 { FEW } else { many };
        eprintln!("filling {} keys: {}", grouped(subjects), question.name);
        Box::new(Population::new(server, question, Place { database, subjects, turn: TURN }))
    };
    let contenders = [question(), question(), Question::incr(), Question::incr()]
        .into_iter()
        .enumerate()
        .map(|(database, question)| populate(database, question))
        .collect::<Vec<_>>();
    let mut turns = Turns::new(server, contenders, Duration::ZERO);
    // A ratio of ratios varies more than one: twice as many rounds.
    turns.run(2 * scale.rounds, TURNS);
    let measured = turns.into_measured();
    server.flush();

    report.row("", &["us, few", "us, many", "many / few"].map(String::from));
    for few in [0, 2] {
        let [us_few, us_many] = [few, few + 1].map(|index| format!("{:.2}", measured.cpu_us(index)));
        report.row(measured.names()[few], &[us_few, us_many, measured.ratio(few + 1, few).to_string()]);
    }
    let growth = measured.figure(|us| (us(1) / us(0)) / (us(3) / us(2)));
    report.row("growth of the counter / of INCR", &[String::new(), String::new(), growth.to_string()]);
    let name = format!("growth from {FEW} to {} keys, counter / INCR", grouped(many));
    report.bar(name, growth.median, Must::AtMost(1.0));
}
