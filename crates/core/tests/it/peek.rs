//! `remaining` and `reset_after` are exact, and looking changes nothing.

use slidegate_core::{Outcome, State};
use slidegate_testkit::cases::prove;
use slidegate_testkit::ensure;

use crate::run::{Run, Standing, peek};
use crate::trace::{ALL, Extra, cost, trace};

const EXTRAS: [Extra; 4] = [Extra::StepBack, Extra::StepForward, Extra::Settle, Extra::Quota];

#[test]
fn remaining_is_exactly_the_largest_cost_that_fits() {
    prove(
        |rng| {
            let of = rng.pick(&ALL);
            trace(rng, of, &EXTRAS)
        },
        |&(limit, start_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            for step in steps {
                let decision = run.apply(step);
                let standing = peek(&mut run.state.clone(), &run.limit, run.now_ms());
                if let Some(decision) = decision {
                    ensure!(decision.remaining == standing.remaining, "{decision:?}, then {standing:?}");
                    ensure!(
                        decision.reset_after_ms == standing.reset_after_ms,
                        "{decision:?}, then {standing:?}"
                    );
                }
                let fits = |cost| run.probe(0, cost).outcome == Outcome::Fits;
                ensure!(fits(standing.remaining), "{} are said to remain", standing.remaining);
                ensure!(!fits(standing.remaining + 1), "one more than {} fits", standing.remaining);
            }
            Ok(())
        },
    );
}

#[test]
fn reset_after_is_exactly_when_the_state_is_empty() {
    prove(
        |rng| {
            let of = rng.pick(&ALL);
            trace(rng, of, &EXTRAS)
        },
        |&(limit, start_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            for step in steps {
                run.apply(step);
                let (limit, now_ms) = (run.limit, run.now_ms());
                let reset_ms = run.peek().reset_after_ms;
                let at = |ms| peek(&mut run.state.clone(), &limit, ms);
                let fresh = Standing { remaining: limit.ceiling(), reset_after_ms: 0 };
                ensure!(at(now_ms + reset_ms) == fresh, "not fresh after {reset_ms} ms");
                ensure!(is_new(&run, reset_ms), "traces are left after {reset_ms} ms");
                if reset_ms > 0 {
                    let before = at(now_ms + reset_ms - 1);
                    ensure!(before.remaining < limit.ceiling(), "fresh before {reset_ms} ms");
                    ensure!(before.reset_after_ms == 1, "{before:?} a millisecond before the reset");
                }
            }
            Ok(())
        },
    );
}

/// Whether from then on nothing tells the state from a new one.
fn is_new(run: &Run, after_ms: u64) -> bool {
    let window_ms = run.limit.window_ms();
    let mut fresh = run.clone();
    fresh.state = State::new(&run.limit);
    let alike =
        |later_ms: u64, cost| run.probe(after_ms + later_ms, cost) == fresh.probe(after_ms + later_ms, cost);
    [0, 1, window_ms - 1, window_ms].into_iter().all(|ms| alike(ms, 0) && alike(ms, run.limit.ceiling()))
}

#[test]
fn a_denial_or_a_peek_leaves_the_state_identical() {
    prove(
        |rng| {
            let of = rng.pick(&ALL);
            let ((limit, start_ms), steps) = trace(rng, of, &EXTRAS);
            let costs = [0, cost(rng, &limit), cost(rng, &limit), limit.ceiling()];
            ((limit, start_ms, costs), steps)
        },
        |&(limit, start_ms, costs), steps| {
            let mut run = Run::new(limit, start_ms);
            for step in steps {
                run.apply(step);
                // What has left the window goes and a wrong clock is repaired, once; beyond that
                // nothing changes.
                let mut looked = run.clone();
                looked.peek();
                for cost in costs {
                    let mut other = run.clone();
                    let denied = other.check(cost).outcome != Outcome::Fits;
                    if denied || cost == 0 {
                        let (left, right) = (format!("{:?}", other.state), format!("{:?}", looked.state));
                        ensure!(left == right, "{cost} after {step:?} left {left}, not {right}");
                    }
                }
            }
            Ok(())
        },
    );
}
