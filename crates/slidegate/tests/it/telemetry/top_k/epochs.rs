//! Epochs of top lists: when one ends, and which is which.

use std::collections::HashMap;
use std::thread;

use slidegate::telemetry::{Subject, Top};
use slidegate_testkit::cases::Rng;

use crate::telemetry::top_k::common::{START_MS, holds, naming};

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

/// The same where places change hands and lists are read meanwhile, by clocks on both sides of the
/// edge.
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
    let count_at = |now_ms| {
        let list = top.list(8, now_ms);
        (list.total, list.since_ms)
    };
    assert_eq!(count_at(START_MS), (0, START_MS), "nothing yet");
    add(START_MS);
    add(epoch_ms + Top::EPOCH_MS);
    assert_eq!(count_at(epoch_ms + Top::EPOCH_MS), (2, START_MS));
    // A clock that lags a little counts where the others are.
    add(epoch_ms + Top::EPOCH_MS - 1);
    assert_eq!(count_at(epoch_ms + 2 * Top::EPOCH_MS - 1), (3, START_MS));
    assert_eq!(count_at(epoch_ms + 2 * Top::EPOCH_MS), (2, epoch_ms + Top::EPOCH_MS));
    assert_eq!(count_at(epoch_ms + 3 * Top::EPOCH_MS), (0, epoch_ms + 2 * Top::EPOCH_MS));
    // However far it lags.
    add(START_MS);
    assert_eq!(count_at(START_MS), (1, epoch_ms + 2 * Top::EPOCH_MS));
    add(epoch_ms + 9 * Top::EPOCH_MS);
    assert_eq!(count_at(START_MS), (1, epoch_ms + 8 * Top::EPOCH_MS));
}

/// Every epoch's number in the words of the counts, the one that looks like a vacant place
/// included.
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
fn an_epoch_is_not_confused_with_one_long_ago() {
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
fn a_subject_outside_the_list_counts_in_every_epoch() {
    let naming = naming("login");
    for epoch in 0x7ffd..0x8003_u64 {
        let top = Top::new(1);
        let add = |subject: &str| {
            top.add(Subject { naming: &naming, key: &subject.into() }, epoch * Top::EPOCH_MS);
            let list = top.list(1, epoch * Top::EPOCH_MS);
            (list.total, list.bound, list.entries.first().map(|entry| (entry.count, entry.error)))
        };
        let results = ["alice", "bob", "bob", "bob", "carol"].map(add);
        let bob = |count| Some((count, 1));
        assert_eq!(
            results,
            [(1, 1, Some((1, 0))), (2, 2, None), (3, 3, bob(3)), (4, 4, bob(4)), (5, 5, None)]
        );
    }
}
