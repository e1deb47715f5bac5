//! `Limit::worst_case`: reached, and never passed. Found by trying everything where that is
//! possible, by the cleverest traffic where it is not.

use std::time::Duration;

use slidegate_core::{Attempt, Limit, MAX_QUOTA, Outcome, State};
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use crate::run::{Run, peek};
use crate::trace::{DAY_MS, Of, Step, Trace, limit, small_limit, trace};

/// Every sequence of admissions over three windows, a choice of cost in every millisecond.
#[test]
fn an_exhaustive_search_finds_exactly_the_stated_worst_case() {
    for (window_ms, quotas) in [(1, 6), (2, 6), (3, 5), (4, 3), (5, 2), (6, 2), (7, 1), (8, 1)] {
        for quota in 1..=quotas {
            let log = Limit::new(quota, Duration::from_millis(window_ms)).expect("a log");
            let gcra = |burst| log.gcra(burst).expect("a meter");
            let (counter, fixed) = (log.counter().expect("a counter"), log.fixed().expect("a fixed window"));
            for limit in [log, counter, fixed, gcra(1), gcra(quota), gcra(quota + 1)] {
                let most = Search { limit: &limit, end_ms: 3 * window_ms, most: 0 }.run();
                assert_eq!(most, limit.worst_case(), "{limit}");
            }
        }
    }
}

struct Search<'a> {
    limit: &'a Limit,
    end_ms: u64,
    most: u64,
}

impl Search<'_> {
    fn run(mut self) -> u64 {
        self.from(&State::new(self.limit), &mut Vec::new());
        self.most
    }

    /// Tries every cost that fits in the next millisecond; `spent` holds what was admitted in each
    /// one so far.
    fn from(&mut self, state: &State, spent: &mut Vec<u64>) {
        let now_ms = spent.len() as u64;
        let view = spent.len().saturating_sub(self.limit.window_ms() as usize);
        self.most = self.most.max(spent[view..].iter().sum());
        if now_ms == self.end_ms {
            return;
        }
        let remaining = peek(&mut state.clone(), self.limit, now_ms).remaining;
        for cost in 0..=remaining {
            let mut next = state.clone();
            let decision = next.decide(self.limit, Attempt { now_ms, cost, holder: 0 });
            assert_eq!(decision.outcome, Outcome::Fits);
            spent.push(cost);
            self.from(&next, spent);
            spent.pop();
        }
    }
}

/// A burst in the last millisecond of a window, a burst in the first of the next, and all that fits
/// when the first is about to leave the view.
fn attack(limit: &Limit) -> Run {
    let window_ms = limit.window_ms();
    let mut run = Run::new(*limit, 1_000 * window_ms - 1);
    run.check(limit.ceiling());
    if window_ms > 1 {
        run.true_ms += 1;
        for _ in 0..2 {
            let remaining = run.probe(0, 0).remaining;
            run.check(remaining);
            run.true_ms += window_ms - 2;
        }
    }
    run
}

#[test]
fn a_burst_at_the_edge_and_a_trickle_reach_it() {
    prove(
        |rng| (limit(rng, rng.pick(&[Of::Counter, Of::Counter, Of::Fixed])), vec![()]),
        |limit, _| {
            let (most, stated) = (attack(limit).most_in_a_window(), limit.worst_case());
            ensure!(most == stated, "{most} of the stated {stated}");
            Ok(())
        },
    );
}

#[test]
fn a_meter_that_is_emptied_every_millisecond_reaches_it() {
    prove(
        |rng| (small_limit(rng, Of::Gcra), vec![()]),
        |limit, _| {
            let mut run = Run::new(*limit, 1_000);
            for _ in 0..limit.window_ms() {
                let remaining = run.peek().remaining;
                run.check(remaining);
                run.true_ms += 1;
            }
            let (most, stated) = (run.most_in_a_window(), limit.worst_case());
            ensure!(most == stated, "{most} of the stated {stated}");
            Ok(())
        },
    );
}

/// Traffic that always takes all that is left, at times that like the edges.
fn greedy(rng: &Rng, of: Of) -> Trace {
    let ((limit, start_ms), mut steps) = trace(rng, of, &[]);
    for step in &mut steps {
        if let Step::Check { cost, .. } = step {
            *cost = rng.pick(&[*cost, u64::MAX, u64::MAX]);
        }
    }
    ((limit, start_ms), steps)
}

#[test]
fn greedy_traffic_never_passes_it() {
    prove(
        |rng| greedy(rng, rng.pick(&[Of::Log, Of::Counter, Of::Fixed, Of::Gcra])),
        |&(limit, start_ms), steps| {
            let mut run = Run::new(limit, start_ms);
            for step in steps {
                let Step::Check { after_ms, cost } = *step else { continue };
                run.true_ms += after_ms;
                let remaining = run.peek().remaining;
                run.check(cost.min(remaining));
            }
            let (most, stated) = (run.most_in_a_window(), limit.worst_case());
            ensure!(most <= stated, "{most} of the stated {stated}");
            Ok(())
        },
    );
}

#[test]
fn the_stated_figures() {
    let per = |quota, ms| Limit::new(quota, Duration::from_millis(ms)).expect("a log");
    let counter = |quota, ms| per(quota, ms).counter().expect("a counter").worst_case();
    assert_eq!(counter(100, 1_000), 199);
    assert_eq!(counter(5, 60_000), 9);
    assert_eq!(counter(1, 1), 1);
    assert_eq!(counter(7, 1), 7);
    assert_eq!(counter(1, 2), 1);
    assert_eq!(counter(1_000_000, 1_000), 1_998_000);
    assert_eq!(counter(86_400_000, DAY_MS), 172_799_998);
    assert_eq!(counter(86_401, DAY_MS + 1_000), 172_801);
    assert_eq!(counter(MAX_QUOTA, DAY_MS), (1 << 52) - 52_124_996);
    assert_eq!(per(5, 1).fixed().expect("fixed").worst_case(), 5);
    assert_eq!(per(5, 2).fixed().expect("fixed").worst_case(), 10);
    assert_eq!(per(10, 1_000).gcra(3).expect("gcra").worst_case(), 12);
    assert_eq!(per(10, 1).gcra(3).expect("gcra").worst_case(), 3);
    assert_eq!(per(3_000, 1_000).gcra(1).expect("gcra").worst_case(), 1_000);
    assert_eq!(per(700, 1_000).gcra(1).expect("gcra").worst_case(), 500);
    assert_eq!(per(1_700, 1_000).gcra(2).expect("gcra").worst_case(), 1_500);
    assert_eq!(per(1_000, 1_000).gcra(2).expect("gcra").worst_case(), 1_001);
    assert_eq!(per(5, 60_000).worst_case(), 5);
    assert_eq!(Limit::in_flight(5, Duration::from_millis(10)).expect("in flight").worst_case(), 5);
}
