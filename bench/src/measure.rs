//! Time per decision, measured in turns.
//!
//! A machine is never equally fast twice. So in every round all contenders decide the same arrivals
//! one right after the other, a ratio is taken within the round, and what counts is the median of
//! these ratios.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::contenders::{Answer, Contender};
use crate::middle::median;
use crate::workload::{Arrivals, Keys};

/// Scale of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Turns of every contender.
    pub rounds: usize,
    /// Decisions per turn and thread.
    pub slice: usize,
    /// Threads that ask at the same time.
    pub threads: usize,
}

/// Times of all contenders in all rounds.
#[derive(Debug)]
pub struct Measured {
    names: Vec<&'static str>,
    ns: Vec<Vec<f64>>,
    allowed: Vec<(usize, usize)>,
}

/// Lets the contenders take turns.
///
/// # Panics
/// If a contender does not give the answer that is to be measured: then the figure would mean
/// something else.
pub fn in_turns(
    contenders: &mut [&mut dyn Contender],
    arrivals: &Arrivals,
    plan: Plan,
    answer: Option<Answer>,
) -> Measured {
    let mut measured = Measured {
        names: contenders.iter().map(|contender| contender.name()).collect(),
        ns: vec![Vec::new(); contenders.len()],
        allowed: vec![(0, 0); contenders.len()],
    };
    for round in 0..plan.rounds {
        for turn in 0..contenders.len() {
            // Nobody always comes after the same one, which may have left the caches in a better or
            // worse state.
            let index = (round + turn) % contenders.len();
            let slice = Slice::cut(arrivals, plan, round, contenders[index].parts());
            let (took, allowed) = slice.time(contenders[index]);
            let decisions = slice.decisions();
            check(contenders[index].name(), answer, allowed, decisions);
            measured.ns[index].push(took.as_nanos() as f64 * plan.threads as f64 / decisions as f64);
            measured.allowed[index].0 += allowed;
            measured.allowed[index].1 += decisions;
        }
    }
    contenders.iter().for_each(|contender| contender.check());
    measured
}

fn check(name: &str, answer: Option<Answer>, allowed: usize, decisions: usize) {
    let expected = match answer {
        None => return,
        Some(Answer::Allowed) => decisions,
        Some(Answer::Denied) => 0,
    };
    assert_eq!(allowed, expected, "{name} let {allowed} of {decisions} through, not {expected}");
}

/// The arrivals of one turn: for each thread some to warm up with and some to measure.
struct Slice<'a> {
    threads: Vec<(Keys<'a>, Keys<'a>)>,
}

impl<'a> Slice<'a> {
    fn cut(arrivals: &'a Arrivals, plan: Plan, round: usize, parts: usize) -> Self {
        // The others have just emptied the caches. In use nobody comes in between, so the most
        // frequent keys are fetched again before the clock starts.
        let warm = plan.slice / 4;
        let stretch = |thread: usize| {
            let at = (round * plan.threads + thread) * (warm + plan.slice);
            let keys = (arrivals.stretch(at, warm), arrivals.stretch(at + warm, plan.slice));
            (keys.0.part(parts), keys.1.part(parts))
        };
        Self { threads: (0..plan.threads).map(stretch).collect() }
    }

    fn decisions(&self) -> usize {
        self.threads.iter().map(|(_, keys)| keys.len()).sum()
    }

    fn time(&self, contender: &mut dyn Contender) -> (Duration, usize) {
        match self.threads.as_slice() {
            [(warm, keys)] => {
                contender.run_alone(*warm);
                let start = thread_time();
                let allowed = contender.run_alone(*keys);
                (thread_time() - start, allowed)
            }
            threads => together(contender, threads),
        }
    }
}

/// CPU time of this thread. It stands still while another program has the core, so that other work
/// of the machine counts less. A single thread waits for nothing, so that nothing is missed either.
fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.try_into().expect("no thread has run for a negative time")
}

/// Wall time from the start of the first thread to the end of the last one: threads that wait for
/// each other count.
fn together(contender: &dyn Contender, threads: &[(Keys<'_>, Keys<'_>)]) -> (Duration, usize) {
    let barrier = Barrier::new(threads.len());
    let run = |(warm, keys): &(Keys<'_>, Keys<'_>)| {
        contender.run(*warm);
        barrier.wait();
        let start = Instant::now();
        let allowed = contender.run(*keys);
        (start, Instant::now(), allowed)
    };
    let done: Vec<(Instant, Instant, usize)> = std::thread::scope(|scope| {
        let running: Vec<_> = threads.iter().map(|thread| scope.spawn(|| run(thread))).collect();
        running.into_iter().map(|thread| thread.join().expect("no contender panics")).collect()
    });
    let start = done.iter().map(|(start, ..)| *start).min().expect("there are threads");
    let end = done.iter().map(|(_, end, _)| *end).max().expect("there are threads");
    (end - start, done.iter().map(|(.., allowed)| allowed).sum())
}

impl Measured {
    /// Names of the contenders, in their order.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Nanoseconds per decision, as a thread sees it: the median of the rounds.
    pub fn ns(&self, index: usize) -> f64 {
        median(self.ns[index].clone())
    }

    /// Ratio of the first contender's time to this one's: the median over the rounds.
    pub fn ratio(&self, peer: usize) -> f64 {
        self.ratio_of(0, peer)
    }

    /// Ratio of one contender's time to another's.
    pub fn ratio_of(&self, one: usize, other: usize) -> f64 {
        median(self.ns[one].iter().zip(&self.ns[other]).map(|(one, other)| one / other).collect())
    }

    /// The share of decisions that let the request pass.
    pub fn allowed(&self, index: usize) -> f64 {
        let (allowed, decisions) = self.allowed[index];
        allowed as f64 / decisions as f64
    }
}
