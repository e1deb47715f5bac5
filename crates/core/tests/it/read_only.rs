//! A refusal or a peek changes nothing, whatever the quotas, bursts and resolutions between two
//! decisions.

use slidegate_core::{Attempt, Limit, LimitKind, Outcome, Resolution, State};
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use crate::run::{Run, with_quota};
use crate::trace::{ALL, Extra, clock_step_ms, cost, trace, wait_ms};

/// A decision under another limit of the same id, which is undone if it was an admission.
#[derive(Clone, Copy, Debug)]
struct Interlude {
    limit: Limit,
    after_ms: u64,
    cost: u64,
}

/// The same history under another quota, and another burst or resolution.
pub(crate) fn changed(rng: &Rng, limit: &Limit) -> Limit {
    let quota = rng.pick(&[1, rng.between(1, 4 * limit.quota()), rng.magnitude(1 << 40), limit.quota()]);
    let other = with_quota(limit, quota);
    let changed = match other.kind() {
        LimitKind::Gcra { burst } => other.gcra(rng.pick(&[1, burst, rng.between(1, 4 * burst), quota])),
        LimitKind::Log { .. } => other.resolution(Resolution::Ms(rng.between(1, limit.window_ms()))),
        LimitKind::Counter | LimitKind::Fixed | LimitKind::InFlight => Ok(other),
    };
    changed.unwrap_or(other)
}

fn interludes(rng: &Rng, limit: &Limit, now_ms: u64) -> Vec<Interlude> {
    let one = |_| {
        let limit = changed(rng, limit);
        Interlude { limit, after_ms: wait_ms(rng, &limit, now_ms), cost: rng.pick(&[0, cost(rng, &limit)]) }
    };
    (0..rng.between(1, 6)).map(one).collect()
}

/// The states of two keys that were asked the same, one of them with interludes, answer the same
/// from then on.
#[test]
fn by_refusals_and_peeks_under_any_limits() {
    prove(
        |rng| {
            let of = rng.pick(&ALL);
            let ((limit, start_ms), steps) = trace(rng, of, &[Extra::Quota, Extra::GiveBack]);
            let back_ms = rng.pick(&[0, 0, clock_step_ms(rng, &limit).min(limit.window_ms())]);
            ((limit, start_ms, back_ms, changed(rng, &limit), interludes(rng, &limit, start_ms)), steps)
        },
        |(limit, start_ms, back_ms, last, interludes), steps| {
            let mut run = Run::new(*limit, *start_ms);
            run.apply_all(steps);
            run.peek();
            run.off_ms = -(*back_ms.min(&run.true_ms) as i64);
            let mut meddled = run.clone();
            for &Interlude { limit, after_ms, cost } in interludes {
                meddled.true_ms += after_ms;
                let now_ms = meddled.now_ms();
                undone(&mut meddled.state, &limit, now_ms, cost);
            }
            run.true_ms = meddled.true_ms;
            for limit in [run.limit, *last] {
                (run.limit, meddled.limit) = (limit, limit);
                for cost in [0, 1, limit.ceiling().div_ceil(2), limit.ceiling()] {
                    let (right, got) = (run.probe(0, cost), meddled.probe(0, cost));
                    ensure!(got == right, "{cost} under {limit:?}: {got:?}, but without them {right:?}");
                }
            }
            Ok(())
        },
    );
}

/// A peek or a refusal; where the cost fits, nothing.
fn undone(state: &mut State, limit: &Limit, now_ms: u64, cost: u64) {
    let mut tried = state.clone();
    let decision = tried.decide(limit, Attempt { now_ms, cost, holder: u64::MAX });
    if cost == 0 || decision.outcome != Outcome::Fits {
        *state = tried;
    }
}

/// The fast tier of a subject does not wipe out what it owes under its slow one.
#[test]
fn a_debt_is_not_forgotten_under_another_quota() {
    let meter = |quota, burst| Limit::per_hour(quota).gcra(burst).expect("a meter");
    let (slow, mut state) = (meter(3, 6), State::new(&meter(3, 6)));
    let mut decide = |limit: &Limit, now_ms, cost| {
        state.decide(limit, Attempt { now_ms, cost, holder: 0 }).outcome == Outcome::Fits
    };
    assert!(decide(&slow, 0, 6), "a burst");
    for fast in [meter(36_000, 6), meter(36_000, 1), meter(36_000, 36_000), meter(1, 1)] {
        decide(&fast, 900, 0);
        decide(&fast, 900, 36_001);
        assert!(!decide(&slow, 1_000, 1), "after a look under {fast:?}");
    }
}
