//! Refunds and settlements: what was recorded is corrected where it was recorded, and once.

use slidegate_core::{Limit, Receipt, SettleEffect, State};
use slidegate_testkit::cases::prove;
use slidegate_testkit::ensure;

use crate::oracle::Oracle;
use crate::run::Run;
use crate::trace::{Extra, Of, Step, cost, trace, wait_ms};

const SETTLING: [Of; 4] = [Of::Log, Of::Counter, Of::Fixed, Of::InFlight];

#[test]
fn settling_equals_the_oracle() {
    let extras = [Extra::Settle, Extra::Settle, Extra::GiveBack, Extra::StepBack, Extra::StepForward];
    prove(
        |rng| trace(rng, rng.pick(&SETTLING), &extras),
        |&(limit, start_ms), steps| settle_beside_oracle(limit, start_ms, steps),
    );
}

fn settle_beside_oracle(limit: Limit, start_ms: u64, steps: &[Step]) -> Result<(), String> {
    let (mut run, mut oracle, mut spent) = (Run::new(limit, start_ms), Oracle::default(), Vec::new());
    let mut stepped_back = false;
    for step in steps {
        match *step {
            Step::Settle { of, cost } => {
                let Some(index) = of.checked_rem(run.admitted.len()) else { continue };
                if spent.contains(&index) {
                    continue;
                }
                let receipt = run.admitted[index].receipt;
                let right = oracle.settle(&limit, &receipt, cost, run.now_ms());
                run.peek();
                // A permit from before a step back may name a stamp that others have used since:
                // not defined.
                let Some(right) = right.filter(|right| *right == SettleEffect::Done || !stepped_back) else {
                    continue;
                };
                let settled = run.settle(index, cost);
                ensure!(settled == right, "{step:?}: {settled:?}, not {right:?}");
                spent.push(index);
            }
            Step::Check { cost, .. } => {
                let id = run.admitted.len() as u64;
                let decision = run.apply(step);
                let right = oracle.decide(&limit, cost, run.now_ms(), id);
                ensure!(decision == Some(right), "{step:?}: {decision:?}, not {right:?}");
            }
            Step::GiveBack { units } => {
                let (actual, right) = (run.apply(step), oracle.give_back(&limit, units, run.now_ms()));
                ensure!(actual == Some(right), "{step:?}: {actual:?}, not {right:?}");
            }
            _ => {
                stepped_back |= matches!(step, Step::Clock { by_ms: ..0 });
                run.apply(step);
            }
        }
    }
    Ok(())
}

#[test]
fn a_refund_after_a_check_restores_the_state() {
    prove(
        |rng| {
            let of = rng.pick(&SETTLING);
            let ((limit, start_ms), steps) = trace(rng, of, &[Extra::StepBack, Extra::StepForward]);
            let waits = [0, wait_ms(rng, &limit, start_ms), wait_ms(rng, &limit, start_ms)];
            ((limit, start_ms, cost(rng, &limit), waits), steps)
        },
        |&(limit, start_ms, cost, waits), steps| {
            let mut run = Run::new(limit, start_ms);
            run.apply_all(steps);
            run.peek();
            let mut refunded = run.clone();
            refunded.check(cost);
            if refunded.admitted.len() == run.admitted.len() {
                return Ok(());
            }
            let settled = refunded.settle(run.admitted.len(), 0);
            ensure!(settled == SettleEffect::Done, "{settled:?}");
            for after_ms in waits {
                run.true_ms += after_ms;
                refunded.true_ms += after_ms;
                let (right, standing) = (run.peek(), refunded.peek());
                ensure!(standing == right, "{standing:?} after {after_ms} ms, not {right:?}");
            }
            for cost in [1, cost, limit.quota()] {
                let (right, decision) = (run.probe(0, cost), refunded.probe(0, cost));
                ensure!(decision == right, "{decision:?}, not {right:?}");
            }
            Ok(())
        },
    );
}

/// Before its release what was recorded can be corrected, and from then on there is nothing left to
/// correct.
#[test]
fn nothing_is_corrected_after_its_release() {
    prove(
        |rng| trace(rng, rng.pick(&SETTLING), &[Extra::Settle, Extra::Settle]),
        |&(limit, start_ms), steps| {
            let (mut run, mut spent) = (Run::new(limit, start_ms), Vec::new());
            for step in steps {
                let Step::Settle { of, cost } = *step else {
                    run.apply(step);
                    continue;
                };
                let Some(index) = of.checked_rem(run.admitted.len()) else { continue };
                let receipt = run.admitted[index].receipt;
                if spent.contains(&receipt.holder) {
                    continue;
                }
                spent.push(receipt.holder);
                let gone_ms = receipt.release_ms(&limit);
                let settled = run.settle(index, cost);
                ensure!((settled == SettleEffect::Done) == (run.now_ms() < gone_ms), "{step:?}: {settled:?}");
                let after_ms = gone_ms.max(run.now_ms());
                let again = run.state.clone().settle(&limit, &receipt, 0, after_ms);
                ensure!(again == SettleEffect::Gone, "{again:?} after the release, {settled:?} before");
            }
            Ok(())
        },
    );
}

#[test]
fn gcra_has_nothing_to_correct() {
    let limit = Limit::per_second(5).gcra(2).expect("a meter");
    let receipt = Receipt { stamp_ms: 0, cost: 1, holder: 0 };
    assert_eq!(State::new(&limit).settle(&limit, &receipt, 0, 0), SettleEffect::Unsupported);
}

/// Thousands of debts at once stay a number: they end at 2^52 in all, and at the most places there
/// are.
#[test]
fn debts_never_overflow() {
    let logs = Limit::new(65_536, std::time::Duration::from_secs(100)).expect("a log");
    let logs = logs.resolution(slidegate_core::Resolution::Ms(2)).expect("slots of 2 ms");
    let places = Limit::in_flight(65_536, std::time::Duration::from_secs(100)).expect("in flight");
    for limit in [logs, places] {
        let mut run = Run::new(limit, 0);
        for _ in 0..9_000 {
            run.check(1);
            run.true_ms += 2;
        }
        for index in 0..run.admitted.len() {
            assert_eq!(run.settle(index, u64::MAX), SettleEffect::Done);
        }
        assert_eq!(run.peek().remaining, 0);
        run.true_ms += limit.window_ms();
        assert_eq!(run.peek().remaining, limit.quota());
    }
}
