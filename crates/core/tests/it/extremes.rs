//! The ends of every number: an error when the limit is made, or the right answer. Never an
//! overflow.

use std::time::Duration;

use slidegate_core::{
    Counter, Fixed, Gcra, Holder, InFlight, Limit, LimitError, LimitKind, MAX_ENTRIES, MAX_QUOTA,
    MAX_TIME_MS, MAX_WINDOW_MS, Receipt, Resolution, State,
};
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use crate::oracle::Oracle;
use crate::run::Run;

/// Any number of 64 bits, with a liking for the ends and the bounds of the core.
fn extreme(rng: &Rng) -> u64 {
    let bounds =
        [0, 1, 2, 128, MAX_ENTRIES, MAX_QUOTA, MAX_TIME_MS, MAX_WINDOW_MS, 86_400_000, 1 << 53, u64::MAX];
    let about = rng.pick(&bounds).wrapping_add(rng.below(3)).wrapping_sub(1);
    rng.pick(&[about, about, rng.magnitude(u64::MAX)])
}

/// Makes a limit from any numbers at all.
fn make(rng: &Rng) -> Result<Limit, LimitError> {
    let (quota, window, extra) = (extreme(rng), Duration::from_millis(extreme(rng)), extreme(rng));
    let log = Limit::new(quota, window);
    match rng.below(6) {
        0 => log,
        1 => log?.resolution(Resolution::Ms(extra)),
        2 => log?.counter(),
        3 => log?.fixed(),
        4 => log?.gcra(extra),
        _ => Limit::in_flight(quota, window),
    }
}

/// A limit that could be made, with some luck among the numbers.
fn usable(rng: &Rng) -> Limit {
    (0..20).find_map(|_| make(rng).ok()).unwrap_or(Limit::per_second(1))
}

#[test]
fn a_limit_is_within_its_bounds_or_an_error() {
    prove(
        |rng| (make(rng), vec![()]),
        |made, _| {
            let Ok(limit) = made else { return Ok(()) };
            ensure!((1..=MAX_QUOTA).contains(&limit.quota()), "quota");
            ensure!((1..=MAX_WINDOW_MS).contains(&limit.window_ms()), "window");
            ensure!((1..=limit.window_ms()).contains(&limit.resolution_ms()), "resolution");
            ensure!((1..=MAX_ENTRIES as usize).contains(&limit.max_entries()), "entries");
            ensure!(limit.worst_case() >= 1, "worst case");
            if let LimitKind::Gcra { burst } = limit.kind() {
                let (debt, quota) = (u128::from(burst) * u128::from(limit.window_ms()), limit.quota());
                ensure!((1..=MAX_QUOTA).contains(&burst) && debt <= 1 << 53, "burst");
                ensure!(
                    debt.div_ceil(u128::from(quota)) <= u128::from(MAX_TIME_MS),
                    "a wait too long to tell"
                );
            }
            ensure!(Limit::from_words(limit.to_words()) == Ok(*limit), "{:?}", limit.to_words());
            Ok(())
        },
    );
}

#[test]
fn invalid_numbers_are_never_a_limit() {
    prove(
        |rng| {
            (
                [rng.pick(&[0, 1, 2, 3, 4, 5, extreme(rng)]), extreme(rng), extreme(rng), extreme(rng)],
                vec![()],
            )
        },
        |&words, _| {
            if let Ok(limit) = Limit::from_words(words) {
                let again = Limit::from_words(limit.to_words());
                ensure!(again == Ok(limit), "{again:?}");
                ensure!(limit.quota() == words[1] && limit.window_ms() == words[2], "{limit:?}");
                ensure!((1..=MAX_ENTRIES as usize).contains(&limit.max_entries()), "{limit:?}");
            }
            Ok(())
        },
    );
}

/// Times above the last one count as it, so the oracle is asked with that.
#[test]
fn decisions_at_the_ends_equal_the_oracle() {
    prove(
        |rng| {
            let steps: Vec<_> = (0..rng.between(1, 12)).map(|_| (extreme(rng), extreme(rng))).collect();
            (usable(rng), steps)
        },
        |&limit, steps| {
            let (mut run, mut oracle) = (Run::new(limit, 0), Oracle::default());
            for &(now_ms, cost) in steps {
                run.true_ms = now_ms;
                let id = run.admitted.len() as u64;
                let decision = run.check(cost);
                let right = oracle.decide(&limit, cost, now_ms.min(MAX_TIME_MS), id);
                ensure!(decision == right, "{cost} at {now_ms}: {decision:?}, not {right:?}");
            }
            Ok(())
        },
    );
}

/// States and receipts from outside are not trusted to be small, or to fit together.
#[test]
fn states_and_receipts_of_any_numbers_never_panic() {
    prove(
        |rng| {
            let limit = usable(rng);
            let steps: Vec<_> = (0..4).map(|_| [extreme(rng), extreme(rng), extreme(rng)]).collect();
            ((limit, any_state(rng, &limit)), steps)
        },
        |(limit, state), steps| {
            let mut run = Run::new(*limit, 0);
            run.state = state.clone();
            for &[now_ms, cost, stamp_ms] in steps {
                run.true_ms = now_ms;
                run.check(cost);
                let receipt = Receipt { stamp_ms, cost, holder: stamp_ms };
                receipt.release_ms(limit);
                run.state.settle(limit, &receipt, now_ms, stamp_ms);
                let standing = run.peek();
                ensure!(standing.remaining <= limit.ceiling(), "{standing:?}");
            }
            Ok(())
        },
    );
}

fn any_state(rng: &Rng, limit: &Limit) -> State {
    let last_ms = extreme(rng);
    match limit.kind() {
        LimitKind::Log { .. } => {
            let entry = |_| slidegate_core::LogEntry { stamp_ms: extreme(rng), count: extreme(rng) };
            State::Log(slidegate_core::Log::from_entries(last_ms, (0..rng.below(4)).map(entry)))
        }
        LimitKind::Counter => State::Counter(Counter::new(last_ms, extreme(rng), extreme(rng))),
        LimitKind::Fixed => State::Fixed(Fixed { last_ms, current: extreme(rng) }),
        LimitKind::Gcra { .. } => State::Gcra(Gcra { last_ms, debt: extreme(rng), quota: extreme(rng) }),
        LimitKind::InFlight => {
            // A hold never ends later than a window after the last write.
            let end_ms = || last_ms.saturating_add(limit.window_ms()).saturating_sub(extreme(rng));
            let holder = |id| Holder { id, count: extreme(rng), end_ms: end_ms() };
            State::InFlight(InFlight::from_holders(last_ms, (0..rng.below(4)).map(holder)))
        }
    }
}

#[test]
fn what_is_no_limit_says_why() {
    use LimitError as E;
    let (ms, day) = (Duration::from_millis, Duration::from_secs(86_400));
    let log = |quota, window| Limit::new(quota, window);
    let table = [
        (log(0, day), E::ZeroQuota),
        (log(MAX_QUOTA + 1, day), E::QuotaTooLarge { quota: MAX_QUOTA + 1 }),
        (log(1, Duration::ZERO), E::ZeroWindow),
        (log(1, Duration::from_micros(1_500)), E::WindowNotWholeMs),
        (log(1, Duration::from_nanos(1)), E::WindowNotWholeMs),
        (log(1, ms(MAX_WINDOW_MS + 1)), E::WindowTooLong),
        (log(1, Duration::MAX.saturating_sub(Duration::from_nanos(999_999_999))), E::WindowTooLong),
        (Limit::per_second(1).resolution(Resolution::Ms(0)), E::ZeroResolution),
        (
            Limit::per_second(1).resolution(Resolution::Ms(1_001)),
            E::ResolutionAboveWindow { resolution_ms: 1_001, window_ms: 1_000 },
        ),
        (
            log(70_000, day).and_then(|l| l.resolution(Resolution::Ms(1))),
            E::TooManyEntries { entries: 70_000 },
        ),
        (
            log(70_000, ms(65_535)).and_then(|l| l.resolution(Resolution::Ms(1))),
            E::TooManyEntries { entries: 65_537 },
        ),
        (Limit::in_flight(65_537, day), E::TooManyEntries { entries: 65_537 }),
        (Limit::in_flight(0, day), E::ZeroQuota),
        (Limit::in_flight(1, Duration::ZERO), E::ZeroWindow),
        (log(1, ms(86_400_001)).and_then(Limit::counter), E::CounterNeedsSeconds { window_ms: 86_400_001 }),
        (Limit::per_second(1).gcra(0), E::ZeroBurst),
        (log(65, ms(8)).and_then(|l| l.gcra((1 << 50) + 1)), E::BurstTooLarge { most: 1 << 50 }),
        (log(1, ms(8)).and_then(|l| l.gcra(1 << 44)), E::BurstTooLarge { most: (1 << 44) - 1 }),
        (log(1 << 50, ms(1)).and_then(|l| l.gcra((1 << 51) + 1)), E::BurstTooLarge { most: 1 << 51 }),
    ];
    for (made, error) in table {
        assert_eq!(made, Err(error));
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn the_ends_that_are_limits() {
    // Stored states and the scripts of other stores know these numbers too.
    assert_eq!((MAX_TIME_MS, MAX_QUOTA), (140_737_488_355_327, 2_251_799_813_685_248));
    assert_eq!((MAX_WINDOW_MS, MAX_ENTRIES), (86_400_000_000, 65_536));
    let ms = Duration::from_millis;
    assert!(Limit::new(MAX_QUOTA, ms(MAX_WINDOW_MS)).is_ok());
    assert!(Limit::new(65_536, ms(86_400_000)).and_then(|l| l.resolution(Resolution::Ms(1))).is_ok());
    assert!(Limit::new(70_000, ms(65_534)).and_then(|l| l.resolution(Resolution::Ms(1))).is_ok());
    assert!(Limit::in_flight(65_536, ms(1)).is_ok());
    assert!(Limit::new(1, ms(86_399_999)).and_then(Limit::counter).is_ok());
    assert!(Limit::new(1, ms(86_401_000)).and_then(Limit::counter).is_ok());
    assert!(Limit::new(65, ms(8)).and_then(|l| l.gcra(1 << 50)).is_ok());
    assert!(Limit::new(1, ms(8)).and_then(|l| l.gcra((1 << 44) - 1)).is_ok());
    assert!(Limit::new(1 << 50, ms(1)).and_then(|l| l.gcra(1 << 51)).is_ok());
}
