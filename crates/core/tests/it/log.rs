//! The sliding window log: never over the quota, never late by more than its resolution, never
//! large.

use std::time::Duration;

use slidegate_core::{Limit, Outcome, Resolution, State};
use slidegate_testkit::cases::prove;
use slidegate_testkit::ensure;

use crate::oracle::Oracle;
use crate::run::Run;
use crate::trace::{Extra, Of, Step, small_trace, trace};

#[test]
fn no_window_ever_sees_more_than_the_quota_at_any_resolution() {
    prove(
        |rng| trace(rng, Of::Log, &[Extra::Resolution]),
        |&(limit, start_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            run.apply_all(steps);
            let most = run.most_in_a_window();
            ensure!(most <= limit.quota(), "{most} in one window");
            Ok(())
        },
    );
}

#[test]
fn at_resolution_1_nothing_that_fits_is_denied() {
    prove(
        |rng| {
            let ((limit, start_ms), steps) = small_trace(rng, Of::Log, &[]);
            ((limit.resolution(Resolution::Ms(1)).expect("a log"), start_ms), steps)
        },
        |&(limit, start_ms), steps| denied_only_over_quota(limit, start_ms, steps),
    );
}

#[test]
fn a_coarser_slot_is_freed_at_most_its_length_less_one_late() {
    prove(
        |rng| trace(rng, Of::Log, &[Extra::Resolution]),
        |&(limit, start_ms), steps| denied_only_over_quota(limit, start_ms, steps),
    );
}

/// Whatever is denied would not have fitted in a window longer by the lateness of the coarsest slot
/// so far.
fn denied_only_over_quota(limit: Limit, start_ms: u64, steps: &[Step]) -> Result<(), String> {
    let mut run = Run::new(limit, start_ms);
    let mut coarsest_ms = limit.resolution_ms();
    for step in steps {
        let decision = run.apply(step);
        coarsest_ms = coarsest_ms.max(run.limit.resolution_ms());
        let (Some(decision), Step::Check { cost, .. }) = (decision, *step) else { continue };
        if decision.outcome == Outcome::Fits {
            continue;
        }
        let span_ms = limit.window_ms() + coarsest_ms - 1;
        let inside = run.admitted.iter().filter(|a| a.true_ms + span_ms > run.true_ms);
        let total: u64 = inside.map(|a| a.cost).sum();
        ensure!(total + cost > limit.quota(), "{step:?} was denied with {total} in view");
    }
    Ok(())
}

#[test]
fn entries_never_exceed_the_slots_of_a_window_and_two() {
    let extras = [Extra::StepBack, Extra::StepForward, Extra::Settle, Extra::Quota];
    prove(
        |rng| trace(rng, Of::Log, &extras),
        |&(limit, start_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            let mut highest = limit;
            for step in steps {
                run.apply(step);
                if run.limit.quota() > highest.quota() {
                    highest = run.limit;
                }
                let State::Log(log) = &run.state else { return Err("not a log".to_owned()) };
                let len = log.len() as u64;
                let slots = limit.window_ms().div_ceil(limit.resolution_ms()) + 2;
                ensure!(len <= slots, "{len} entries after {step:?}");
                ensure!(len <= highest.max_entries() as u64, "{len} entries, more than stated");
                ensure!(log.is_empty() == (len == 0), "is_empty is wrong");
                ensure!(log.entries().count() as u64 == len, "len is wrong");
            }
            Ok(())
        },
    );
}

/// The most entries: a repaired stamp lies between the ends of slots, and so comes on top of them.
#[test]
fn a_repaired_stamp_and_all_slots_of_a_window_are_the_most_entries() {
    let limit =
        Limit::new(100, Duration::from_millis(118)).and_then(|log| log.resolution(Resolution::Ms(66)));
    let limit = limit.expect("slots of 66 ms");
    let check = |after_ms| Step::Check { after_ms, cost: 1 };
    let mut run = Run::new(limit, 66_064);
    // The first comes from a clock far ahead; then the ends of three slots, 1, 67 and 133 ms after
    // the repair.
    run.apply_all(&[Step::Clock { by_ms: 10_000 }, check(0), Step::Clock { by_ms: -10_000 }]);
    run.apply_all(&[check(0), check(2), check(66)]);
    let State::Log(log) = &run.state else { panic!("another kind") };
    let stamps: Vec<u64> = log.entries().map(|entry| entry.stamp_ms).collect();
    assert_eq!(stamps, [66_064, 66_065, 66_131, 66_197]);
    assert_eq!(limit.max_entries(), 4);
}

#[test]
fn equals_the_oracle() {
    prove(
        |rng| trace(rng, Of::Log, &[Extra::Resolution, Extra::Quota]),
        |&(limit, start_ms), steps| run_beside_oracle(limit, start_ms, steps),
    );
}

/// Every decision is the oracle's, number by number.
pub(crate) fn run_beside_oracle(limit: Limit, start_ms: u64, steps: &[Step]) -> Result<(), String> {
    let mut run = Run::new(limit, start_ms);
    let mut oracle = Oracle::default();
    for step in steps {
        let id = run.admitted.len() as u64;
        let decision = run.apply(step);
        let now_ms = run.now_ms();
        let right = match *step {
            Step::Check { cost, .. } => Some(oracle.decide(&run.limit, cost, now_ms, id)),
            Step::GiveBack { units } => Some(oracle.give_back(&run.limit, units, now_ms)),
            _ => None,
        };
        ensure!(decision == right, "{step:?} at {now_ms}: {decision:?}, not {right:?}");
    }
    Ok(())
}
