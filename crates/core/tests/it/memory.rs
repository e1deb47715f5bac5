//! What a state says of its memory.

use slidegate_core::{
    Counter, Holder, InFlight, Limit, Log, LogEntry, MAX_ENTRIES, MAX_QUOTA, MAX_TIME_MS, MAX_WINDOW_MS,
    State,
};
use slidegate_testkit::cases::prove;
use slidegate_testkit::ensure;

use crate::run::Run;
use crate::trace::{ALL, Extra, small_trace};

#[test]
fn memory_grows_only_where_the_state_predicts_it() {
    prove(
        |rng| small_trace(rng, rng.pick(&ALL), &[Extra::Settle, Extra::StepBack, Extra::StepForward]),
        |&(limit, start_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            for step in steps {
                let (full, before) = (run.state.may_grow(&limit), run.state.heap_bytes());
                run.apply(step);
                let after = run.state.heap_bytes();
                ensure!(full || after <= before, "{step:?}: {before} bytes grew to {after}");
            }
            Ok(())
        },
    );
}

#[test]
fn states_of_constant_size_take_no_heap() {
    let limit = Limit::per_second(5);
    for limit in [limit.counter(), limit.fixed(), limit.gcra(5)].map(|limit| limit.expect("a limit")) {
        let mut run = Run::new(limit, 1_000);
        run.check(3);
        assert_eq!((run.state.heap_bytes(), run.state.may_grow(&limit)), (0, false));
    }
}

#[test]
fn a_state_from_its_parts_has_these_parts() {
    let counter = Counter::new(1_234, 7, 3);
    assert_eq!((counter.last_ms(), counter.previous(), counter.current()), (1_234, 7, 3));
    let entry = LogEntry { stamp_ms: 40, count: 2 };
    let log = Log::from_entry(44, Some(entry));
    assert_eq!((log.last_ms(), log.single(), log.len(), log.is_empty()), (44, Some(entry), 1, false));
    assert_eq!(log.entries().collect::<Vec<_>>(), [entry]);
    assert_eq!(State::Log(log).heap_bytes(), 0);
    let empty = Log::from_entry(0, None);
    assert_eq!((empty.single(), empty.len(), empty.is_empty()), (None, 0, true));
}

#[test]
fn holders_from_outside_are_ordered_and_bounded() {
    let holder = |id, count, end_ms| Holder { id, count, end_ms };
    let state =
        InFlight::from_holders(7, [holder(1, 2, u64::MAX), holder(2, u64::MAX, 50), holder(3, 1, 40)]);
    let latest_ms = MAX_TIME_MS + MAX_WINDOW_MS;
    let right = [holder(3, 1, 40), holder(2, MAX_ENTRIES, 50), holder(1, 2, latest_ms)];
    assert_eq!(state.holders().collect::<Vec<_>>(), right);
    assert_eq!(state.last_ms(), 7);
}

#[test]
fn states_take_the_stated_memory() {
    let limit = Limit::in_flight(1_000, std::time::Duration::from_secs(1)).expect("in flight");
    let mut run = Run::new(limit, 0);
    for _ in 0..1_000 {
        run.check(1);
    }
    assert!(run.state.may_grow(&limit));
    let least = 1_000 * size_of::<Holder>();
    assert!((least..2 * least).contains(&run.state.heap_bytes()), "{} bytes", run.state.heap_bytes());
}

#[test]
fn entries_from_outside_are_bounded() {
    let entry = |stamp_ms, count| LogEntry { stamp_ms, count };
    let log = Log::from_entries(7, [entry(1, u64::MAX), entry(u64::MAX, 5)]);
    assert_eq!(log.entries().collect::<Vec<_>>(), [entry(1, 2 * MAX_QUOTA)]);
    let log = Log::from_entries(7, [entry(1, 3), entry(u64::MAX, u64::MAX)]);
    let last = entry(MAX_TIME_MS + MAX_WINDOW_MS, 2 * MAX_QUOTA - 3);
    assert_eq!(log.entries().collect::<Vec<_>>(), [entry(1, 3), last]);
    let counter = Counter::new(0, u64::MAX, u64::MAX);
    assert_eq!((counter.previous(), counter.current()), (2 * MAX_QUOTA, 2 * MAX_QUOTA));
}
