//! The counter: equal to its formula, to the unit and the millisecond.

use slidegate_core::{Attempt, Counter, Outcome, State, decide_one};
use slidegate_testkit::cases::prove;
use slidegate_testkit::ensure;

use crate::log::run_beside_oracle;
use crate::run::Run;
use crate::trace::{DAY_MS, Extra, Of, Step, cost, limit, trace, wait_ms};

#[test]
fn equals_the_oracle() {
    prove(
        |rng| trace(rng, Of::Counter, &[Extra::Quota]),
        |&(limit, start_ms), steps| run_beside_oracle(limit, start_ms, steps),
    );
}

/// What is seen at a glance is what a look sees, and what is answered and written follows from it.
#[test]
fn a_glance_is_a_look() {
    prove(
        |rng| {
            let limit = limit(rng, Of::Counter);
            let last_ms = (1 + rng.below(500)) * limit.window_ms() + rng.below(limit.window_ms());
            let count = || rng.pick(&[0, 1, rng.below(limit.quota() + 1), limit.quota()]);
            let state = Counter::new(last_ms, count(), count());
            let step = Step::Check { after_ms: rng.below(limit.window_ms()), cost: cost(rng, &limit) };
            let back_ms = if rng.one_in(8) { rng.magnitude(last_ms) } else { 0 };
            ((limit, state, back_ms), vec![step])
        },
        |&(limit, state, back_ms), steps| {
            for step in steps {
                let Step::Check { after_ms, cost } = *step else { continue };
                let now_ms = state.last_ms() + after_ms - back_ms.min(state.last_ms());
                let elapsed_ms = now_ms % limit.window_ms();
                ensure!(limit.elapsed_ms(now_ms) == elapsed_ms, "not {elapsed_ms}");
                let Some(fast_view) = state.fast_view(&limit, now_ms, elapsed_ms) else {
                    // Only where products are large may it give up within the window of the last
                    // write.
                    let small = u128::from(state.previous()) * u128::from(limit.window_ms()) < 1 << 40;
                    let same = now_ms >= state.last_ms() && now_ms - state.last_ms() <= elapsed_ms;
                    ensure!(!(small && same), "no glance at {now_ms}");
                    continue;
                };
                let mut after = state;
                let attempt = Attempt { now_ms, cost, holder: 0 };
                let decision = decide_one(&mut after, &limit, attempt);
                let charged = cost != 0 && cost <= fast_view.remaining(&limit);
                let answer =
                    if charged { fast_view.admit(&limit, attempt) } else { fast_view.leave(&limit, attempt) };
                ensure!(answer == decision, "{answer:?}, not {decision:?}");
                ensure!(fast_view.current() == state.current(), "{fast_view:?}");
                let written = Counter::new(now_ms, state.previous(), state.current() + cost);
                let expected = if charged { written } else { state };
                ensure!(after == expected, "{after:?}, not {expected:?}");
            }
            Ok(())
        },
    );
}

#[test]
fn equals_the_formula_in_exact_arithmetic() {
    prove(
        |rng| {
            let limit = limit(rng, Of::Counter);
            let window_ms = limit.window_ms();
            let last_ms = (1 + rng.below(500)) * window_ms + rng.below(window_ms);
            let count = || rng.pick(&[0, 1, rng.below(limit.quota() + 1), limit.quota()]);
            let state = Counter::new(last_ms, count(), count());
            let step = Step::Check { after_ms: wait_ms(rng, &limit, last_ms), cost: cost(rng, &limit) };
            ((limit, state), vec![step])
        },
        |&(limit, state), steps| {
            for step in steps {
                let Step::Check { after_ms, cost } = *step else { continue };
                let now_ms = state.last_ms() + after_ms;
                let mut run = Run::new(limit, now_ms);
                run.state = State::Counter(state);
                let fits = run.check(cost).outcome == Outcome::Fits;
                let right = cost == 0 || formula(limit.quota(), limit.window_ms(), state, cost, now_ms);
                ensure!(fits == right, "{cost} at {now_ms}: {fits}");
            }
            Ok(())
        },
    );
}

/// `previous·(W − elapsed) + (current + cost)·W ≤ quota·W`; above a day W and elapsed are whole
/// seconds.
fn formula(quota: u64, window_ms: u64, state: Counter, cost: u64, now_ms: u64) -> bool {
    let windows = now_ms / window_ms - state.last_ms() / window_ms;
    let (previous, current) = match windows {
        0 => (state.previous(), state.current()),
        1 => (state.current(), 0),
        _ => (0, 0),
    };
    let tick_ms = if window_ms > DAY_MS { 1_000 } else { 1 };
    let [window, elapsed] = [window_ms / tick_ms, now_ms % window_ms / tick_ms].map(u128::from);
    let [previous, current, cost, quota] = [previous, current, cost, quota].map(u128::from);
    previous * (window - elapsed) + (current + cost) * window <= quota * window
}

#[test]
fn above_a_day_a_wait_ends_on_a_whole_second() {
    prove(
        |rng| trace(rng, Of::Counter, &[]),
        |&(limit, start_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            run.apply_all(steps);
            if let Outcome::RetryAfter(ms) = run.probe(0, limit.quota()).outcome {
                let ready_ms = (run.now_ms() + ms) % limit.window_ms();
                let whole = limit.window_ms() <= DAY_MS || ready_ms.is_multiple_of(1_000);
                ensure!(whole, "ready {ready_ms} ms into a window");
            }
            Ok(())
        },
    );
}
