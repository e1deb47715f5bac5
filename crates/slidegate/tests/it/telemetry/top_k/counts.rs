//! Top lists against exact counts.

use std::collections::HashMap;
use std::thread;

use slidegate::telemetry::{Subject, Top};
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::ensure;

use crate::telemetry::top_k::common::{START_MS, holds, name, naming};

#[derive(Clone, Copy, Debug)]
enum Step {
    Add(u64),
    /// By a clock that is so much behind.
    AddLate(u64, u64),
    Wait(u64),
    List(usize),
}

/// How subjects follow one another.
#[derive(Clone, Copy, Debug)]
enum Stream {
    Uniform,
    Skewed,
    /// One more than there are places, in turn: everybody is new when it comes.
    Round,
    /// Some often, then everybody new.
    HeavyThenFlood,
    FloodThenHeavy,
}

fn subject(rng: &Rng, stream: Stream, (step, steps): (u64, u64), capacity: u64) -> u64 {
    let heavy = |begins: bool| if begins { rng.below(3) } else { 1_000 + step };
    match stream {
        Stream::Uniform => rng.below(3 * capacity),
        Stream::Skewed => rng.magnitude(8 * capacity),
        Stream::Round => step % (capacity + 1),
        Stream::HeavyThenFlood => heavy(step < steps / 2),
        Stream::FloodThenHeavy => heavy(step > steps / 2),
    }
}

fn generate(rng: &Rng) -> (u64, Vec<Step>) {
    const STREAMS: [Stream; 5] =
        [Stream::Uniform, Stream::Skewed, Stream::Round, Stream::HeavyThenFlood, Stream::FloodThenHeavy];
    let capacity = if rng.one_in(8) { rng.between(100, 300) } else { rng.between(1, 16) };
    let (stream, steps) = (rng.pick(&STREAMS), rng.magnitude(40 * capacity));
    let one = |step| match rng.below(200) {
        0 => Step::Wait(rng.magnitude(3 * Top::EPOCH_MS)),
        1 => Step::List(rng.below(2 * capacity) as usize),
        2 => Step::AddLate(subject(rng, stream, (step, steps), capacity), rng.magnitude(3 * Top::EPOCH_MS)),
        _ => Step::Add(subject(rng, stream, (step, steps), capacity)),
    };
    (capacity, (0..steps).map(one).collect())
}

/// Counts as the list does, with all the room in the world.
#[derive(Default)]
struct Exact(HashMap<u64, HashMap<u64, u64>>);

impl Exact {
    fn add(&mut self, subject: u64, now_ms: u64) {
        *self.0.entry(now_ms / Top::EPOCH_MS).or_default().entry(subject).or_default() += 1;
    }

    fn epoch(&self, epoch: u64) -> impl Iterator<Item = (u64, u64)> {
        self.0.get(&epoch).into_iter().flatten().map(|(subject, times)| (*subject, *times))
    }

    fn last_two(&self, now_ms: u64) -> HashMap<u64, u64> {
        let epoch = now_ms / Top::EPOCH_MS;
        let mut both = HashMap::new();
        for (subject, times) in self.epoch(epoch - 1).chain(self.epoch(epoch)) {
            *both.entry(subject).or_default() += times;
        }
        both
    }
}

#[test]
fn lists_are_true_for_every_stream() {
    let naming = naming("login");
    prove_part(10, generate, |&capacity, steps| {
        let (top, mut exact, mut now_ms) = (Top::new(capacity as usize), Exact::default(), START_MS);
        // At the end all that is known, and then as if nothing had been left out.
        for step in steps.iter().chain(&[Step::List(usize::MAX)]) {
            match *step {
                Step::Add(subject) => {
                    top.add(Subject { naming: &naming, key: &subject.into() }, now_ms);
                    exact.add(subject, now_ms);
                }
                Step::AddLate(subject, ms) => {
                    // So that all shards have begun the epoch.
                    top.list(0, now_ms);
                    top.add(Subject { naming: &naming, key: &subject.into() }, now_ms - ms);
                    exact.add(subject, now_ms);
                }
                Step::Wait(ms) => now_ms += ms,
                Step::List(most) => holds(&top.list(most, now_ms), most, &exact.last_two(now_ms))?,
            }
        }
        let (list, truth) = (top.list(usize::MAX, now_ms), exact.last_two(now_ms));
        if capacity <= 16 {
            // One shard: the textbook's bound, one more in each epoch for whoever came once and was
            // not noted, and nothing but the truth while there is room.
            ensure!(list.bound <= list.total / capacity + 2, "{} of {}", list.bound, list.total);
            let is_exact = list.bound == 0 && list.entries.iter().all(|entry| entry.error == 0);
            ensure!(truth.len() as u64 >= capacity || is_exact, "there was room: {list:?}");
        }
        Ok(())
    });
}

/// A million draws from a million subjects, in the size that servers use.
#[test]
fn who_stands_out_is_found_among_a_million() {
    let (naming, top, rng) = (naming("login"), Top::default(), Rng::new(7));
    let mut exact = HashMap::new();
    for _ in 0..1_000_000 {
        let subject = if rng.one_in(4) { rng.magnitude(1_000_000) } else { rng.below(1_000_000) };
        top.add(Subject { naming: &naming, key: &subject.into() }, START_MS);
        *exact.entry(subject).or_default() += 1;
    }
    for most in [1, 20, 5_000] {
        holds(&top.list(most, START_MS), most, &exact).expect("a true list");
    }
    let list = top.list(Top::CAPACITY, START_MS);
    // Whoever has a place and came once is left out.
    assert!(list.entries.iter().all(|entry| entry.count > entry.error + 1), "{list:?}");
    // A thousandth of all, and what the shards differ by.
    assert!(list.bound <= 2 * list.total / Top::CAPACITY as u64, "{} of {}", list.bound, list.total);
    let most = exact.iter().max_by_key(|(_, times)| **times).expect("somebody");
    assert_eq!(list.entries[0].subject[0].value.as_deref(), Some(&*name(*most.0)));
}

/// Threads that count the same subjects lose nothing, while places change hands and lists are read.
#[test]
fn threads_lose_nothing() {
    const THREADS: u64 = 4;
    const EACH: u64 = 100_000;
    let naming = naming("login");
    for capacity in [3, 64, 1_024] {
        let top = Top::new(capacity);
        let subjects = |thread| {
            let rng = Rng::new(thread);
            (0..EACH).map(move |_| rng.magnitude(4_096))
        };
        let read = thread::scope(|scope| {
            for thread in 0..THREADS {
                let (top, naming) = (&top, &naming);
                scope.spawn(move || {
                    subjects(thread).for_each(|n| top.add(Subject { naming, key: &n.into() }, START_MS));
                });
            }
            (0..100).map(|_| top.list(50, START_MS)).collect::<Vec<_>>()
        });
        let mut exact = HashMap::new();
        (0..THREADS).flat_map(subjects).for_each(|n| *exact.entry(n).or_default() += 1);
        for most in [10, 5_000] {
            holds(&top.list(most, START_MS), most, &exact).expect("a true list");
        }
        let by_name: HashMap<String, u64> = exact.iter().map(|(n, times)| (name(*n), *times)).collect();
        for entry in read.iter().flat_map(|list| &list.entries) {
            let times = by_name[entry.subject[0].value.as_deref().expect("a value")];
            assert!(entry.count - entry.error <= times, "{entry:?} while counting, {times} in the end");
        }
    }
}

/// Groups of places are far from full.
#[test]
fn two_hundred_subjects_are_counted_without_error() {
    let naming = naming("login");
    for _ in 0..20 {
        let top = Top::default();
        for subject in (0..3).flat_map(|_| 0..200_u64) {
            top.add(Subject { naming: &naming, key: &subject.into() }, START_MS);
        }
        let list = top.list(1_000, START_MS);
        assert_eq!((list.entries.len(), list.bound), (200, 0), "{list:?}");
        assert!(list.entries.iter().all(|entry| (entry.count, entry.error) == (3, 0)), "{list:?}");
    }
}
