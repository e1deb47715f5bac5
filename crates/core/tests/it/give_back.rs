//! Units given back without a permit: the oldest first, never below nothing, and never a place in
//! flight.

use slidegate_core::{Attempt, Limit, LimitAttempt, NarrowLog, State, decide_one, give_back, give_back_one};
use slidegate_testkit::cases::prove;
use slidegate_testkit::ensure;

use crate::log::run_beside_oracle;
use crate::run::{Run, peek};
use crate::trace::{ALL, Extra, Of, cost, trace, wait_ms};

#[test]
fn giving_back_equals_the_oracle() {
    let extras = [Extra::GiveBack, Extra::GiveBack, Extra::StepBack, Extra::StepForward];
    prove(
        |rng| trace(rng, rng.pick(&ALL), &extras),
        |&(limit, start_ms), steps| run_beside_oracle(limit, start_ms, steps),
    );
}

#[test]
fn a_log_whose_quota_and_slots_change_gives_back_as_the_oracle() {
    let extras = [Extra::GiveBack, Extra::GiveBack, Extra::Resolution, Extra::Quota];
    prove(
        |rng| trace(rng, Of::Log, &extras),
        |&(limit, start_ms), steps| run_beside_oracle(limit, start_ms, steps),
    );
}

/// What remains grows by no more than was given back, and does not shrink; what is asked for
/// afterwards is as if there had been less before.
#[test]
fn what_remains_grows_by_at_most_the_returned_units() {
    let extras = [Extra::GiveBack, Extra::Settle, Extra::StepBack, Extra::StepForward];
    prove(
        |rng| {
            let ((limit, start_ms), steps) = trace(rng, rng.pick(&ALL), &extras);
            ((limit, start_ms, cost(rng, &limit)), steps)
        },
        |&(limit, start_ms, units), steps| {
            let mut run = Run::new(limit, start_ms);
            run.apply_all(steps);
            let before = run.peek();
            let decision = run.give_back(units);
            let after = run.peek();
            ensure!(decision.stamp_ms == 0, "{decision:?} recorded something");
            ensure!(
                (decision.remaining, decision.reset_after_ms) == (after.remaining, after.reset_after_ms),
                "{decision:?}"
            );
            let most = before.remaining.saturating_add(units);
            ensure!((before.remaining..=most).contains(&after.remaining), "{before:?}, then {after:?}");
            ensure!(after.reset_after_ms <= before.reset_after_ms, "{before:?}, then {after:?}");
            Ok(())
        },
    );
}

#[test]
fn a_state_with_all_units_returned_equals_an_empty_one() {
    let extras = [Extra::GiveBack, Extra::Settle, Extra::StepForward];
    prove(
        |rng| {
            let of = rng.pick(&[Of::Log, Of::Counter, Of::Fixed, Of::Gcra]);
            let ((limit, start_ms), steps) = trace(rng, of, &extras);
            ((limit, start_ms, rng.below(3) * limit.window_ms()), steps)
        },
        |&(limit, start_ms, back_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            run.apply_all(steps);
            if run.peek().reset_after_ms == 0 {
                // Nothing counts, so nothing is given back; a counter keeps windows that a step
                // back brings into view again.
                return Ok(());
            }
            // Twice: a counter may hold more than is given back at once.
            run.give_back(u64::MAX);
            run.give_back(u64::MAX);
            let mut fresh = State::new(&limit);
            let now_ms = run.now_ms().saturating_sub(back_ms);
            let (standing, right) = (peek(&mut run.state, &limit, now_ms), peek(&mut fresh, &limit, now_ms));
            ensure!(standing == right, "{standing:?}, not {right:?}");
            ensure!(run.state.heap_bytes() == 0 || matches!(run.state, State::Log(_)), "{:?}", run.state);
            Ok(())
        },
    );
}

#[test]
fn in_two_steps_it_is_the_same() {
    prove(
        |rng| {
            let ((limit, start_ms), steps) = trace(rng, rng.pick(&ALL), &[Extra::GiveBack, Extra::StepBack]);
            let units = [cost(rng, &limit), cost(rng, &limit)];
            ((limit, start_ms, units, wait_ms(rng, &limit, start_ms)), steps)
        },
        |&(limit, start_ms, [first, second], after_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            run.apply_all(steps);
            let mut at_once = run.clone();
            run.give_back(first);
            let (answer, right) = (run.give_back(second), at_once.give_back(first + second));
            ensure!(answer == right, "{answer:?}, not {right:?}");
            for cost in [0, 1, first, limit.quota()] {
                let (answer, right) = (run.probe(after_ms, cost), at_once.probe(after_ms, cost));
                ensure!(answer == right, "{cost}: {answer:?}, not {right:?}");
            }
            Ok(())
        },
    );
}

/// Several limits at once, and a log in its narrow form, are what each is by itself.
#[test]
fn several_limits_give_back_as_each_by_itself() {
    let limits = [
        Limit::per_second(9),
        Limit::per_minute(9).counter().expect("a counter"),
        Limit::per_minute(9).gcra(9).expect("a meter"),
    ];
    let mut states = limits.each_ref().map(State::new);
    let attempt = |cost| Attempt { now_ms: 500, cost, holder: 0 };
    for (limit, state) in limits.iter().zip(&mut states) {
        state.decide(limit, attempt(7));
    }
    let mut alone = states.clone();
    let alone = limits.iter().zip(&mut alone).map(|(limit, state)| give_back_one(state, limit, attempt(4)));
    let alone: Vec<_> = alone.collect();
    let pairs = limits.iter().zip(&mut states);
    let mut attempts: Vec<_> =
        pairs.map(|(limit, state)| LimitAttempt { limit, cost: 4, holder: 0, state }).collect();
    let verdict = give_back(&mut attempts, 500);
    assert_eq!(*verdict.decisions, *alone);
    assert!(verdict.is_allowed());
    assert_eq!((verdict.decided_at_ms, verdict.remaining()), (500, Some(6)));
}

#[test]
fn a_narrow_log_gives_back_where_it_is() {
    let limit = Limit::per_second(9);
    let (mut head, mut ring) = (slidegate_core::LogHead::EMPTY, slidegate_core::Ring::EMPTY);
    let mut narrow = NarrowLog { head: &mut head, ring: &mut ring };
    for now_ms in [0, 10, 20] {
        decide_one(&mut narrow, &limit, Attempt { now_ms, cost: 3, holder: 0 });
    }
    let decision = give_back_one(&mut narrow, &limit, Attempt { now_ms: 30, cost: 4, holder: 0 });
    assert_eq!((decision.remaining, decision.reset_after_ms), (4, 990));
    assert_eq!((head.len(), head.total(), head.last_ms()), (2, 5, 30));
}
