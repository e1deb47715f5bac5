//! `retry_after` is tight: denied a millisecond before, admitted at it.

use slidegate_core::{Decision, Limit, Outcome};
use slidegate_testkit::cases::prove;
use slidegate_testkit::ensure;

use crate::run::Run;
use crate::trace::{ALL, Extra, Of, Step, trace};

const EXTRAS: [Extra; 4] = [Extra::StepBack, Extra::StepForward, Extra::Settle, Extra::Quota];

#[test]
fn tight_for_the_log() {
    prove(
        |rng| trace(rng, Of::Log, &[&EXTRAS[..], &[Extra::Resolution]].concat()),
        |&(limit, start_ms), steps| every_wait_is_tight(limit, start_ms, steps),
    );
}

#[test]
fn tight_for_the_counter() {
    prove(
        |rng| trace(rng, Of::Counter, &EXTRAS),
        |&(limit, start_ms), steps| every_wait_is_tight(limit, start_ms, steps),
    );
}

#[test]
fn tight_for_the_fixed_window() {
    prove(
        |rng| trace(rng, Of::Fixed, &EXTRAS),
        |&(limit, start_ms), steps| every_wait_is_tight(limit, start_ms, steps),
    );
}

#[test]
fn tight_for_gcra() {
    prove(
        |rng| trace(rng, Of::Gcra, &[&EXTRAS[..], &[Extra::Burst]].concat()),
        |&(limit, start_ms), steps| every_wait_is_tight(limit, start_ms, steps),
    );
}

#[test]
fn tight_for_in_flight_while_nobody_releases() {
    prove(
        |rng| trace(rng, Of::InFlight, &EXTRAS),
        |&(limit, start_ms), steps| every_wait_is_tight(limit, start_ms, steps),
    );
}

fn every_wait_is_tight(limit: Limit, start_ms: u64, steps: &[Step]) -> Result<(), String> {
    let mut run = Run::new(limit, start_ms);
    for step in steps {
        let decision = run.apply(step);
        if let (Some(decision), Step::Check { cost, .. }) = (decision, *step) {
            wait_is_tight(&run, cost, decision)?;
        }
    }
    run.peek();
    let ceiling = run.limit.ceiling();
    for cost in [1, ceiling.div_ceil(2), ceiling] {
        wait_is_tight(&run, cost, run.probe(0, cost))?;
    }
    Ok(())
}

fn wait_is_tight(run: &Run, cost: u64, decision: Decision) -> Result<(), String> {
    let Outcome::RetryAfter(ms) = decision.outcome else { return Ok(()) };
    ensure!(ms > 0, "{cost} is denied now and would fit now");
    let fits = |after_ms| run.probe(after_ms, cost).outcome == Outcome::Fits;
    ensure!(fits(ms), "{cost} does not fit after the promised {ms} ms");
    for early_ms in [ms - 1, ms / 2, ms / 3] {
        ensure!(!fits(early_ms), "{cost} fits after {early_ms} ms, before the promised {ms} ms");
    }
    Ok(())
}

/// Waits answered before the promised time come true as well: each says what is left of it.
#[test]
fn a_wait_counts_down() {
    prove(
        |rng| {
            let of = rng.pick(&ALL);
            trace(rng, of, &EXTRAS)
        },
        |&(limit, start_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            run.apply_all(steps);
            run.peek();
            let cost = run.limit.ceiling();
            let Outcome::RetryAfter(ms) = run.probe(0, cost).outcome else { return Ok(()) };
            for early_ms in [1, ms / 2, ms - 1] {
                let rest = run.probe(early_ms, cost).outcome;
                let right = if early_ms < ms { Outcome::RetryAfter(ms - early_ms) } else { Outcome::Fits };
                ensure!(rest == right, "{ms} ms, and after {early_ms} ms {rest:?}");
            }
            Ok(())
        },
    );
}
