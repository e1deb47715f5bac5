//! The numbers of a request: what its limits say together, whatever their kinds.

use futures_util::FutureExt;
use slidegate::{Answer, CheckRequest, Outcome, Request, Summary, Wait};
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::ensure;

use crate::gates::{Gated, gate};

/// Limits of every kind; a rule has some of them, in any order.
const LIMITS: [&str; 8] = [
    "9/s",
    "20/3s",
    "{ quota: 15, window: 2s, algorithm: counter }",
    "{ quota: 11, window: 700ms, algorithm: fixed }",
    "{ quota: 8, window: 1s, algorithm: gcra, burst: 6 }",
    "{ quota: 30, window: 10s, resolution: 1s }",
    "{ in_flight: 3, hold: 1s }",
    "{ in_flight: 1, hold: 4s }",
];

#[derive(Clone, Debug)]
struct Step {
    wait_ms: u64,
    path: &'static str,
    cost: u64,
}

fn generate(rng: &Rng) -> (String, Vec<Step>) {
    let mut rules = String::new();
    for (name, extra) in [("a", ""), ("b", "match: { path: /b }, "), ("c", "mode: observe, ")] {
        let count = rng.between(1, 4) as usize;
        let first = rng.below(LIMITS.len() as u64) as usize;
        // No two of one rule are the same.
        let limits: Vec<&str> = (0..count).map(|n| LIMITS[(first + n * 3) % LIMITS.len()]).collect();
        rules += &format!("  - {{ name: {name}, {extra}key: [user], limits: [{}] }}\n", limits.join(", "));
    }
    let step = |_| Step {
        wait_ms: rng.pick(&[0, 0, 1, rng.below(900), 2_000]),
        path: rng.pick(&["/a", "/b"]),
        cost: rng.pick(&[0, 1, 1, 2, 5, 7, 40]),
    };
    (rules, (0..rng.between(1, 25)).map(step).collect())
}

fn request_of_alice(path: &'static str, cost: u64) -> Request<'static> {
    Request::new().with("user", "alice").with("path", path).cost(cost)
}

fn check(gate: &Gated, request: Request<'_>) -> Answer {
    let answer = gate.check(&CheckRequest::from(request)).now_or_never().expect("memory answers at once");
    answer.expect("a good request")
}

/// The definition, word by word.
fn naive(answer: &Answer) -> Summary {
    let limits: Vec<_> = answer.limits().collect();
    let bounds = |n: &usize| !limits[*n].limit.needs_id() || limits[*n].decision.remaining == 0;
    let least = (0..limits.len()).filter(bounds).map(|n| limits[n].decision.remaining).min();
    let tightest = (0..limits.len()).filter(bounds).find(|n| Some(limits[*n].decision.remaining) == least);
    let longest = |in_flight: bool| {
        let of_kind = limits.iter().filter(|one| one.limit.needs_id() == in_flight);
        let waits = of_kind.filter_map(|one| match one.decision.outcome {
            Outcome::RetryAfter(ms) => Some(ms),
            Outcome::Fits | Outcome::Never => None,
        });
        waits.max()
    };
    let wait = match (longest(false), longest(true)) {
        _ if limits.iter().any(|one| one.decision.outcome == Outcome::Never) => Wait::Never,
        (Some(ms), at_most) if at_most.is_none_or(|most| most <= ms) => Wait::After(ms),
        (_, Some(most)) => Wait::Within(most),
        _ => Wait::None,
    };
    Summary {
        tightest,
        quota: tightest.map(|n| limits[n].limit.quota()),
        remaining: least,
        wait,
        reset_after_ms: limits.iter().map(|one| one.decision.reset_after_ms).max(),
    }
}

#[test]
fn they_are_what_is_defined_and_remaining_is_the_largest_cost_that_fits() {
    prove_part(10, generate, |rules, steps| {
        let (gate, clock) = gate(rules);
        for step in steps {
            clock.advance_ms(step.wait_ms);
            let answer = check(&gate, request_of_alice(step.path, step.cost));
            let (summary, defined) = (answer.summary(), naive(&answer));
            ensure!(summary == defined, "{step:?}: {summary:?}, not {defined:?}");
            let refused = answer.verdict().decisions.iter().any(|one| one.outcome != Outcome::Fits);
            ensure!((summary.wait == Wait::None) != refused, "{step:?}: {summary:?}");
        }
        for path in ["/a", "/b"] {
            let Some(remaining) = check(&gate, request_of_alice(path, 0)).summary().remaining else {
                // Nothing but places, one of which is free: any cost fits.
                ensure!(check(&gate, request_of_alice(path, u64::MAX)).is_allowed(), "{path}");
                continue;
            };
            let more = check(&gate, request_of_alice(path, remaining + 1));
            ensure!(!more.is_allowed() && more.summary().remaining == Some(remaining), "{path}: {more:?}");
            ensure!(
                check(&gate, request_of_alice(path, remaining)).is_allowed(),
                "{path}: {remaining} do not fit"
            );
        }
        Ok(())
    });
}

/// A wait that is exact is exact for the request as a whole.
#[test]
fn who_waits_so_long_gets_in_and_a_millisecond_earlier_does_not() {
    prove_part(10, generate, |rules, steps| {
        let (gate, clock) = gate(rules);
        for step in steps {
            clock.advance_ms(step.wait_ms);
            check(&gate, request_of_alice(step.path, step.cost));
        }
        let refused = check(&gate, request_of_alice("/b", 6));
        match refused.summary().wait {
            Wait::After(ms) => {
                clock.advance_ms(ms - 1);
                ensure!(!check(&gate, request_of_alice("/b", 6)).is_allowed(), "{ms} ms, and earlier");
                clock.advance_ms(1);
                ensure!(check(&gate, request_of_alice("/b", 6)).is_allowed(), "not after {ms} ms");
            }
            Wait::Within(ms) => {
                clock.advance_ms(ms);
                ensure!(check(&gate, request_of_alice("/b", 6)).is_allowed(), "not within {ms} ms");
            }
            Wait::None | Wait::Never => {}
        }
        Ok(())
    });
}
