//! Top lists against exact counts.
#![cfg(feature = "policy")]

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;

use slidegate::observe::{Appearance, Naming, Subject, Subjects, Top, TopList};
use slidegate::policy::KeyText;
use slidegate::{Key, Space};

use cases::{Rng, prove_part};

mod cases;

const START_MS: u64 = 1_745_000_100_000;

fn naming(rule: &str) -> Arc<Naming> {
    let show = |key: &Key<'_>| {
        // A key of one part is shown by its bytes; that is all that these tests use.
        let text = format!("{key:?}");
        vec![KeyText { attribute: "user".to_owned(), value: Some(text) }]
    };
    Arc::new(Naming::new(rule, Space::named(rule), show))
}

/// A list by whom it names.
fn by_name(list: &TopList) -> HashMap<&str, (u64, u64)> {
    let of = |entry: &'_ slidegate::observe::TopEntry| (entry.count, entry.error);
    let named =
        list.entries.iter().map(|entry| (entry.subject[0].value.as_deref().expect("a value"), of(entry)));
    named.collect()
}

fn name(subject: u64) -> String {
    format!("{:?}", Key::from(subject))
}

/// What every list has to keep, whatever was counted. Subjects are numbers.
fn holds(list: &TopList, most: usize, exact: &HashMap<u64, u64>) -> Result<(), String> {
    let named = by_name(list);
    ensure!(named.len() == list.entries.len(), "somebody is named twice: {list:?}");
    ensure!(list.entries.len() <= most, "{} of {most}", list.entries.len());
    ensure!(list.entries.is_sorted_by(|one, other| one.count >= other.count), "not in order: {list:?}");
    ensure!(list.total == exact.values().sum::<u64>(), "{} in all, not {exact:?}", list.total);
    let mut known = 0;
    for (subject, &times) in exact {
        match named.get(name(*subject).as_str()) {
            Some(&(count, error)) => {
                known += 1;
                ensure!(count - error <= times && times <= count, "{subject}: {times}, {count} - {error}");
            }
            None => ensure!(times <= list.bound, "{subject} is missing with {times}, bound {}", list.bound),
        }
    }
    // Who was never counted is never named.
    ensure!(known == named.len(), "{known} of {}", named.len());
    Ok(())
}

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
            // One shard: the textbook's bound, one more in each epoch for whoever came once and was not noted, and nothing but the truth
            // while there is room.
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

/// Threads that see an epoch end at different times still count everything once.
#[test]
fn nothing_is_lost_when_an_epoch_ends() {
    let (naming, top) = (naming("login"), Top::new(8));
    let begins_ms = (START_MS / Top::EPOCH_MS + 1) * Top::EPOCH_MS;
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (top, naming) = (&top, &naming);
            scope.spawn(move || {
                for n in 0..100_000_u64 {
                    // Each goes over the edge when it likes.
                    let now_ms = begins_ms - u64::from(n < 20_000 * (thread + 1));
                    top.add(Subject { naming, key: &(n % 6).into() }, now_ms);
                }
            });
        }
    });
    let list = top.list(10, begins_ms);
    assert_eq!((list.total, list.bound), (400_000, 0));
    for entry in &list.entries {
        assert!(entry.error == 0 && entry.count.abs_diff(400_000 / 6) <= 4, "{entry:?}");
    }
}

/// The same where places change hands and lists are read meanwhile, by clocks on both sides of the edge.
#[test]
fn lists_are_true_when_an_epoch_ends_in_a_crowd() {
    const THREADS: u64 = 4;
    const EACH: u64 = 50_000;
    let (naming, begins_ms) = (naming("login"), (START_MS / Top::EPOCH_MS + 1) * Top::EPOCH_MS);
    for capacity in [1, 3, 40] {
        let top = Top::new(capacity);
        top.list(0, begins_ms - 1);
        let subjects = |thread| {
            let rng = Rng::new(thread);
            (0..EACH).map(move |_| rng.magnitude(100))
        };
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (top, naming) = (&top, &naming);
                scope.spawn(move || {
                    for (at, subject) in subjects(thread).enumerate() {
                        let now_ms = begins_ms - u64::from((at as u64) < EACH / (thread + 2));
                        top.add(Subject { naming, key: &subject.into() }, now_ms);
                    }
                });
            }
            let total = |back_ms| top.list(5, begins_ms - back_ms).total;
            let totals: Vec<u64> =
                (0..200).map(|time| total(u64::from(time % 2 == 0 && time < 100))).collect();
            assert!(totals.is_sorted(), "{totals:?}");
        });
        let mut exact = HashMap::new();
        (0..THREADS).flat_map(subjects).for_each(|n| *exact.entry(n).or_default() += 1);
        holds(&top.list(5_000, begins_ms), 5_000, &exact).expect("a true list");
    }
}

#[test]
fn a_list_is_of_the_last_two_epochs() {
    let (naming, top) = (naming("login"), Top::new(8));
    let epoch_ms = START_MS / Top::EPOCH_MS * Top::EPOCH_MS;
    let add = |now_ms| top.add(Subject { naming: &naming, key: &"alice".into() }, now_ms);
    let seen = |now_ms| {
        let list = top.list(8, now_ms);
        (list.total, list.since_ms)
    };
    assert_eq!(seen(START_MS), (0, START_MS), "nothing yet");
    add(START_MS);
    add(epoch_ms + Top::EPOCH_MS);
    assert_eq!(seen(epoch_ms + Top::EPOCH_MS), (2, START_MS));
    // A clock that lags a little counts where the others are.
    add(epoch_ms + Top::EPOCH_MS - 1);
    assert_eq!(seen(epoch_ms + 2 * Top::EPOCH_MS - 1), (3, START_MS));
    assert_eq!(seen(epoch_ms + 2 * Top::EPOCH_MS), (2, epoch_ms + Top::EPOCH_MS));
    assert_eq!(seen(epoch_ms + 3 * Top::EPOCH_MS), (0, epoch_ms + 2 * Top::EPOCH_MS));
    // However far it lags.
    add(START_MS);
    assert_eq!(seen(START_MS), (1, epoch_ms + 2 * Top::EPOCH_MS));
    add(epoch_ms + 9 * Top::EPOCH_MS);
    assert_eq!(seen(START_MS), (1, epoch_ms + 8 * Top::EPOCH_MS));
}

/// Every epoch's number in the words of the counts, the one that looks like a held place included.
#[test]
fn epochs_of_all_numbers_count() {
    let (naming, top) = (naming("login"), Top::new(2));
    for epoch in (0..70_000_u64).chain([u64::MAX / Top::EPOCH_MS - 1]) {
        for _ in 0..3 {
            top.add(Subject { naming: &naming, key: &"alice".into() }, epoch * Top::EPOCH_MS);
        }
        let list = top.list(2, epoch * Top::EPOCH_MS);
        let expected = if epoch == 0 || epoch > 70_000 { 3 } else { 6 };
        assert_eq!((list.total, list.entries.len()), (expected, 1), "epoch {epoch}");
    }
}

/// Words have the last bits of an epoch's number only.
#[test]
fn an_epoch_is_not_taken_for_one_long_ago() {
    let naming = naming("login");
    for later in [1_u64 << 14, 1 << 15, 1 << 16, 1 << 31] {
        let top = Top::new(2);
        let add = |epoch| top.add(Subject { naming: &naming, key: &"alice".into() }, epoch * Top::EPOCH_MS);
        [7, 7, 7 + later].into_iter().for_each(add);
        assert_eq!(top.list(2, (7 + later) * Top::EPOCH_MS).total, 1, "{later} epochs later");
    }
}

/// Also in the epoch whose number makes their words look like those of vacant places.
#[test]
fn who_is_not_noted_counts_in_every_epoch() {
    let naming = naming("login");
    for epoch in 0x7ffd..0x8003_u64 {
        let top = Top::new(1);
        let add = |subject: &str| {
            top.add(Subject { naming: &naming, key: &subject.into() }, epoch * Top::EPOCH_MS);
            let list = top.list(1, epoch * Top::EPOCH_MS);
            (list.total, list.bound, list.entries.first().map(|entry| (entry.count, entry.error)))
        };
        let told = ["alice", "bob", "bob", "bob", "carol"].map(add);
        let bob = |count| Some((count, 1));
        assert_eq!(told, [(1, 1, Some((1, 0))), (2, 2, None), (3, 3, bob(3)), (4, 4, bob(4)), (5, 5, None)]);
    }
}

/// Whoever makes texts of keys is called before anything is counted: if it fails, nothing is left half done.
#[test]
fn nothing_is_shifted_if_a_name_cannot_be_made() {
    let show = |key: &Key<'_>| {
        let text = format!("{key:?}");
        assert!(text.len() < 256, "a key that is too long for this rule");
        vec![KeyText { attribute: "user".to_owned(), value: Some(text) }]
    };
    let (naming, long) = (Arc::new(Naming::new("login", Space::named("login"), show)), "x".repeat(300));
    let add = |top: &Top, key: &Key<'_>| {
        let count = || top.add(Subject { naming: &naming, key }, START_MS);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(count)).is_ok()
    };
    let (top, mut exact) = (Top::new(8), HashMap::new());
    for subject in [1_u64, 2, 1, 3, 1, 2] {
        assert!(!add(&top, &(&*long).into()) && add(&top, &subject.into()));
        *exact.entry(subject).or_default() += 1;
        holds(&top.list(10, START_MS), 10, &exact).expect("a true list");
    }

    // Who takes a place from somebody else is called by its name when it comes again.
    let top = Top::new(1);
    let counted = [1_u64.into(), (&*long).into(), (&*long).into(), 2_u64.into(), 2_u64.into()];
    let counted = counted.map(|key: Key<'_>| add(&top, &key));
    assert_eq!(counted, [true, true, false, true, true]);
    let list = top.list(10, START_MS);
    assert_eq!((list.total, by_name(&list)), (4, HashMap::from([(&*name(2), (4, 2))])));
}

#[test]
fn rules_are_told_apart() {
    let (one, other, top) = (naming("login"), naming("search"), Top::new(8));
    for (naming, times) in [(&one, 2), (&other, 1)] {
        (0..times).for_each(|_| top.add(Subject { naming, key: &"alice".into() }, START_MS));
    }
    let list = top.list(8, START_MS);
    let told: Vec<_> = list.entries.iter().map(|entry| (&*entry.rule, entry.count)).collect();
    assert_eq!(told, [("login", 2), ("search", 1)]);
}

#[test]
fn long_subjects_are_cut() {
    let show = |_: &Key<'_>| {
        let part =
            |attribute: &str, value: String| KeyText { attribute: attribute.into(), value: Some(value) };
        vec![part("org", "é".repeat(100)), part("user", "é".repeat(200)), part("more", "x".repeat(9))]
    };
    let naming = Arc::new(Naming::new("login", Space::named("login"), show));
    let top = Top::new(8);
    for key in ["x".repeat(257), "x".repeat(258)] {
        top.add(Subject { naming: &naming, key: &key.into() }, START_MS);
    }
    let list = top.list(8, START_MS);
    assert_eq!(list.entries.len(), 2, "they are told apart by all of their bytes");
    let values: Vec<_> = list.entries[0].subject.iter().filter_map(|text| text.value.clone()).collect();
    assert_eq!(values, ["é".repeat(100), format!("{}…", "é".repeat(26)), "…".to_owned()]);
    assert!(list.entries.iter().all(|entry| entry.cut));
}

/// However many parts a long key has, what is kept of it has a bound.
#[test]
fn few_parts_of_a_long_subject_are_kept() {
    let show = |_: &Key<'_>| vec![KeyText { attribute: "part".into(), value: Some("x".into()) }; 60];
    let naming = Arc::new(Naming::new("login", Space::named("login"), show));
    let top = Top::new(8);
    top.add(Subject { naming: &naming, key: &"x".repeat(300).into() }, START_MS);
    let list = top.list(8, START_MS);
    assert_eq!((list.entries[0].subject.len(), list.entries[0].cut), (8, true));
}

/// A value has one name in a process: in both lists, under all rules, and wherever else subjects are shown.
#[test]
fn hashes_stand_for_values() {
    let appearance = Arc::new(Appearance::new(Subjects::Hashed));
    let lists =
        [Top::new(8).shown_by(Arc::clone(&appearance)), Top::new(8).shown_by(Arc::clone(&appearance))];
    let (rules, long) = ([naming("login"), naming("search")], "x".repeat(300));
    for key in ["alice", &long] {
        let mut names = Vec::new();
        for naming in &rules {
            for list in &lists {
                list.add(Subject { naming, key: &key.into() }, START_MS);
            }
            names.push(appearance.subject(naming, &key.into()));
        }
        let [KeyText { attribute, value: Some(hash) }] = &names[0][..] else { panic!("{names:?}") };
        assert!(attribute == "user" && hash.len() == 16 && !hash.contains("alice"), "{names:?}");
        for list in &lists {
            let list = list.list(8, START_MS);
            let same = list.entries.iter().filter(|entry| entry.subject == names[0]).count();
            assert_eq!((same, &names[0]), (2, &names[1]), "{list:?}");
            assert!(list.entries.iter().all(|entry| !entry.cut), "a hash is of all of it: {list:?}");
        }
    }
    let other = Appearance::new(Subjects::Hashed);
    assert_ne!(other.subject(&rules[0], &"alice".into()), appearance.subject(&rules[0], &"alice".into()));

    // Shown as they are from now on, except for what was kept as a hash.
    appearance.set(Subjects::Plain);
    let list = lists[0].list(8, START_MS);
    let plain = list.entries.iter().filter(|entry| entry.subject == rules[0].plain(&"alice".into())).count();
    assert_eq!((plain, list.entries.iter().filter(|entry| entry.cut).count()), (2, 2), "{list:?}");
}

/// What was kept as it is while that was asked for is not shown any more when it is not.
#[test]
fn nothing_is_shown_that_is_to_be_hashed() {
    let appearance = Arc::new(Appearance::default());
    let (top, naming) = (Top::new(8).shown_by(Arc::clone(&appearance)), naming("login"));
    for key in ["alice".to_owned(), "alice".repeat(100)] {
        top.add(Subject { naming: &naming, key: &key.into() }, START_MS);
    }
    appearance.set(Subjects::Hashed);
    for entry in top.list(8, START_MS).entries {
        let value = entry.subject[0].value.as_deref().expect("a value");
        assert!(value.len() == 16 && value.bytes().all(|byte| byte.is_ascii_hexdigit()), "{value}");
    }
}
