//! In flight: at most so many holders, and nobody holds for ever.

use slidegate_core::{Outcome, State};
use slidegate_testkit::cases::prove;
use slidegate_testkit::ensure;

use crate::log::run_beside_oracle;
use crate::run::Run;
use crate::trace::{Extra, Of, Step, trace};

#[test]
fn equals_the_oracle() {
    prove(
        |rng| trace(rng, Of::InFlight, &[Extra::Quota]),
        |&(limit, start_ms), steps| run_beside_oracle(limit, start_ms, steps),
    );
}

#[test]
fn never_more_slots_than_the_quota_and_released_slots_are_free_at_once() {
    prove(
        |rng| trace(rng, Of::InFlight, &[Extra::Settle]),
        |&(limit, start_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            let mut released: Vec<usize> = Vec::new();
            for step in steps {
                if let Step::Settle { of, .. } = *step {
                    if let Some(index) = of.checked_rem(run.admitted.len()) {
                        run.settle(index, 0);
                        released.push(index);
                    }
                    continue;
                }
                let before = run.admitted.len();
                let (Some(decision), Step::Check { cost, .. }) = (run.apply(step), *step) else { continue };
                let holds = |index: &usize| {
                    !released.contains(index)
                        && run.admitted[*index].true_ms + limit.window_ms() > run.true_ms
                };
                let in_flight: u64 = (0..before).filter(holds).map(|index| run.admitted[index].cost).sum();
                let right = cost == 0 || in_flight + cost <= limit.quota();
                ensure!((decision.outcome == Outcome::Fits) == right, "{step:?} with {in_flight} held");
                let State::InFlight(state) = &run.state else { return Err("another kind".to_owned()) };
                let total: u64 = state.holders().map(|holder| holder.count).sum();
                ensure!(total <= limit.quota(), "{total} held");
            }
            Ok(())
        },
    );
}

/// Somebody's release can only bring the wait forward.
#[test]
fn retry_after_is_an_upper_bound() {
    prove(
        |rng| trace(rng, Of::InFlight, &[]),
        |&(limit, start_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            run.apply_all(steps);
            let cost = limit.quota().div_ceil(2);
            let Outcome::RetryAfter(before_ms) = run.probe(0, cost).outcome else { return Ok(()) };
            for index in 0..run.admitted.len() {
                let mut other = run.clone();
                other.settle(index, 0);
                let after = other.probe(0, cost).outcome;
                let sooner = match after {
                    Outcome::Fits => true,
                    Outcome::RetryAfter(ms) => ms <= before_ms,
                    Outcome::Never => false,
                };
                ensure!(sooner, "{before_ms} ms, then {after:?} after a release");
            }
            Ok(())
        },
    );
}
