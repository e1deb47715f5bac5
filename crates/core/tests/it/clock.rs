//! Clocks that step. What is admitted and how long a key waits is measured in true time.

use slidegate_core::{Limit, LimitKind, Outcome};
use slidegate_testkit::cases::prove;
use slidegate_testkit::ensure;

use crate::log::run_beside_oracle;
use crate::run::Run;
use crate::trace::{ALL, Extra, Of, Step, Trace, clock_step_ms, small_trace, trace};

const STEPS: [Extra; 2] = [Extra::StepBack, Extra::StepForward];

#[test]
fn decisions_after_any_step_equal_the_oracle() {
    prove(
        |rng| trace(rng, rng.pick(&ALL), &STEPS),
        |&(limit, start_ms), steps| run_beside_oracle(limit, start_ms, steps),
    );
}

#[test]
fn no_step_ever_panics() {
    let extras = [
        Extra::StepBack,
        Extra::StepForward,
        Extra::Settle,
        Extra::GiveBack,
        Extra::Quota,
        Extra::Resolution,
    ];
    prove(
        |rng| {
            let of = rng.pick(&ALL);
            trace(rng, of, if of == Of::Log { &extras } else { &extras[..5] })
        },
        |&(limit, start_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            run.apply_all(steps);
            Ok(())
        },
    );
}

#[test]
fn the_log_holds_the_quota_in_true_time_through_steps_back() {
    prove(
        |rng| greedy(small_trace(rng, Of::Log, &[Extra::StepBack, Extra::Resolution])),
        |&(limit, start_ms), steps| at_most(limit, start_ms, steps, limit.quota()),
    );
}

#[test]
fn the_counter_holds_its_worst_case_in_true_time_through_steps_back() {
    prove(
        |rng| greedy(small_trace(rng, Of::Counter, &[Extra::StepBack])),
        |&(limit, start_ms), steps| at_most(limit, start_ms, steps, limit.worst_case()),
    );
}

#[test]
fn gcra_holds_its_worst_case_in_true_time_through_steps_back() {
    prove(
        |rng| greedy(small_trace(rng, Of::Gcra, &[Extra::StepBack])),
        |&(limit, start_ms), steps| at_most(limit, start_ms, steps, limit.worst_case()),
    );
}

/// Costs of 0 and of one too many only look: keep some, and let the others take what is left.
fn greedy((setting, mut steps): Trace) -> Trace {
    for step in &mut steps {
        if let Step::Check { cost, .. } = step
            && *cost > setting.0.quota().div_ceil(2)
        {
            *cost = u64::MAX;
        }
    }
    (setting, steps)
}

fn run_greedy(limit: Limit, start_ms: u64, steps: &[Step]) -> Run {
    let mut run = Run::new(limit, start_ms);
    for step in steps {
        match *step {
            Step::Check { after_ms, cost: u64::MAX } => {
                run.true_ms += after_ms;
                let remaining = run.peek().remaining;
                run.check(remaining);
            }
            _ => drop(run.apply(step)),
        }
    }
    run
}

fn at_most(limit: Limit, start_ms: u64, steps: &[Step], most: u64) -> Result<(), String> {
    let count = run_greedy(limit, start_ms, steps).most_in_a_window();
    ensure!(count <= most, "{count} in one window of true time, more than {most}");
    Ok(())
}

/// A fixed window cannot do better: its edges come closer together when the clock steps back over
/// one. Each step back opens at most one more window.
#[test]
fn a_fixed_window_sees_at_most_one_quota_more_for_every_step_back() {
    prove(
        |rng| greedy(small_trace(rng, Of::Fixed, &[Extra::StepBack])),
        |&(limit, start_ms), steps| {
            let back = steps.iter().filter(|step| matches!(step, Step::Clock { .. })).count() as u64;
            at_most(limit, start_ms, steps, limit.quota() * (2 + back))
        },
    );
}

/// The two ways in which a step back gives a fixed window a third quota.
#[test]
fn a_fixed_window_sees_three_quotas_across_a_step_back() {
    let limit = Limit::per_second(5).fixed().expect("a fixed window");
    let check = |after_ms, cost| Step::Check { after_ms, cost };
    let forgotten = [check(999, 5), check(1, 0), Step::Clock { by_ms: -1 }, check(0, 5), check(1, 5)];
    let repaired = [check(999, 5), check(1, 5), Step::Clock { by_ms: -1_001 }, check(0, 5), check(1, 5)];
    for steps in [&forgotten[..], &repaired[..]] {
        assert_eq!(run_greedy(limit, 10_000, steps).most_in_a_window(), 15);
    }
}

/// One step back at the end of an honest trace: how long does the key then wait at most?
#[test]
fn a_step_back_delays_a_key_by_at_most_one_window() {
    prove(
        |rng| {
            let ((limit, start_ms), steps) = trace(rng, rng.pick(&ALL), &[]);
            let back_ms = clock_step_ms(rng, &limit);
            ((limit, start_ms, back_ms), steps)
        },
        |&(limit, start_ms, back_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            run.apply_all(steps);
            run.apply(&Step::Clock { by_ms: -(back_ms as i64) });
            run.peek();
            let most_ms = longest_wait_ms(&limit) + limit.window_ms();
            if let Outcome::RetryAfter(ms) = run.probe(0, limit.ceiling()).outcome {
                ensure!(ms <= most_ms, "{ms} ms, more than {most_ms}");
            }
            Ok(())
        },
    );
}

/// The longest wait that a limit asks of any key whose clock is right.
fn longest_wait_ms(limit: &Limit) -> u64 {
    let window_ms = limit.window_ms();
    match limit.kind() {
        LimitKind::Log { resolution_ms } => window_ms + resolution_ms - 1,
        LimitKind::Fixed | LimitKind::InFlight => window_ms,
        LimitKind::Counter => 2 * window_ms,
        LimitKind::Gcra { burst } => (burst * window_ms).div_ceil(limit.quota()),
    }
}
