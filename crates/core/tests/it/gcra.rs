//! GCRA: a burst, and from then on the rate, never rounded.

use slidegate_testkit::cases::prove;
use slidegate_testkit::ensure;

use crate::log::run_beside_oracle;
use crate::run::Run;
use crate::trace::{Extra, Of, trace};

#[test]
fn equals_the_oracle() {
    prove(
        |rng| trace(rng, Of::Gcra, &[Extra::StepForward]),
        |&(limit, start_ms), steps| run_beside_oracle(limit, start_ms, steps),
    );
}

#[test]
fn equals_the_oracle_whatever_becomes_of_its_quota_and_burst() {
    let extras = [Extra::StepBack, Extra::StepForward, Extra::Quota, Extra::Burst, Extra::GiveBack];
    prove(
        |rng| trace(rng, Of::Gcra, &extras),
        |&(limit, start_ms), steps| run_beside_oracle(limit, start_ms, steps),
    );
}

/// Over any span the units are at most the burst and what the rate gives in that time.
#[test]
fn no_span_sees_more_than_the_burst_and_the_rate() {
    prove(
        |rng| trace(rng, Of::Gcra, &[]),
        |&(limit, start_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            run.apply_all(steps);
            for (first, from) in run.admitted.iter().enumerate() {
                let mut units = 0_u128;
                for to in &run.admitted[first..] {
                    units += u128::from(to.cost);
                    let span_ms = u128::from(to.true_ms - from.true_ms);
                    let window = u128::from(limit.window_ms());
                    let most = u128::from(limit.ceiling()) * window + span_ms * u128::from(limit.quota());
                    ensure!(units * window <= most, "{units} units in {span_ms} ms");
                }
            }
            Ok(())
        },
    );
}
