//! The fixed window: the quota in every aligned window, no more and no less.

use slidegate_core::Outcome;
use slidegate_testkit::cases::prove;
use slidegate_testkit::ensure;

use crate::log::run_beside_oracle;
use crate::run::Run;
use crate::trace::{Extra, Of, Step, trace};

#[test]
fn equals_the_oracle() {
    prove(
        |rng| trace(rng, Of::Fixed, &[Extra::Quota]),
        |&(limit, start_ms), steps| run_beside_oracle(limit, start_ms, steps),
    );
}

#[test]
fn an_aligned_window_sees_at_most_the_quota_and_denies_nothing_that_fits() {
    prove(
        |rng| trace(rng, Of::Fixed, &[]),
        |&(limit, start_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            for step in steps {
                let before = run.admitted.len();
                let (Some(decision), Step::Check { cost, .. }) = (run.apply(step), *step) else { continue };
                let index = run.true_ms / limit.window_ms();
                let inside = run.admitted[..before].iter().filter(|a| a.true_ms / limit.window_ms() == index);
                let total: u64 = inside.map(|a| a.cost).sum();
                let right = cost == 0 || total + cost <= limit.quota();
                ensure!((decision.outcome == Outcome::Fits) == right, "{step:?} with {total} in the window");
            }
            Ok(())
        },
    );
}
