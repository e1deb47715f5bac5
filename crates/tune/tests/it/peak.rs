//! Peaks against the engine: a quota denies something exactly if the peak is above it.

use std::time::Duration;

use slidegate::{Limit, Limiter, ManualClock};
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::ensure;
use slidegate_tune::peak::{FINE_QUOTA, Peak, PeakCounter, PeakWindow, StartPrecision};

const START_MS: u64 = 1_795_014_000_000;

fn peak(window: &PeakWindow, starts_ms: impl IntoIterator<Item = u64>) -> Peak {
    let mut counter = PeakCounter::new(window);
    starts_ms.into_iter().for_each(|start_ms| counter.count(window, start_ms));
    counter.peak()
}

fn denies(limit: Limit, starts_ms: &[u64]) -> bool {
    let clock = ManualClock::new(0);
    let limiter = Limiter::builder([limit]).clock(clock.clone()).build().expect("a limiter");
    starts_ms.iter().any(|start_ms| {
        clock.set_ms(*start_ms);
        limiter.check("subject").is_denied()
    })
}

/// A window in milliseconds, and waits from one request to the next.
fn stream(rng: &Rng) -> (u64, Vec<u64>) {
    let window_ms = rng.pick(&[1, 40, 1_000, 60_000, 3_600_000]);
    let requests = if rng.one_in(2) { rng.below(40) } else { rng.between(100, 400) };
    let wait_ms =
        |_| if rng.one_in(3) { rng.below(window_ms / 8 + 2) } else { rng.below(window_ms / 200 + 2) };
    (window_ms, (0..requests).map(wait_ms).collect())
}

fn starts(waits_ms: &[u64]) -> Vec<u64> {
    let mut now_ms = START_MS;
    let starts = waits_ms.iter().map(|wait_ms| {
        now_ms += wait_ms;
        now_ms
    });
    starts.collect()
}

#[test]
fn a_quota_denies_exactly_if_the_peak_exceeds_it() {
    prove_part(10, stream, |window_ms, waits_ms| {
        let (window, starts_ms) = (Duration::from_millis(*window_ms), starts(waits_ms));
        let window = PeakWindow::new(window, StartPrecision::Milliseconds).expect("a window");
        let peak = peak(&window, starts_ms.iter().copied());
        ensure!(peak.coarse >= peak.fine.min(FINE_QUOTA), "{peak:?}");
        let near = [peak.fine, peak.coarse, FINE_QUOTA, FINE_QUOTA + 1];
        for quota in near.into_iter().flat_map(|quota| [quota.saturating_sub(1), quota, quota + 1]) {
            let Ok(limit) = Limit::new(quota, Duration::from_millis(*window_ms)) else { continue };
            ensure!(denies(limit, &starts_ms) == peak.exceeds(quota), "{peak:?}, {limit}");
        }
        Ok(())
    });
}

/// Of whole seconds the peaks are upper bounds, whatever the order within a second.
#[test]
fn peaks_of_whole_seconds_are_upper_bounds() {
    let windows_ms = [1_000, 1_500, 60_000, 3_600_000];
    let generate = |rng: &Rng| {
        let window_ms = rng.pick(&windows_ms);
        let waits_ms = (0..rng.between(1, 400)).map(|_| rng.below(window_ms / 100 + 2)).collect();
        (window_ms, waits_ms)
    };
    prove_part(10, generate, |window_ms, waits_ms: &[u64]| {
        let (window, starts_ms) = (Duration::from_millis(*window_ms), starts(waits_ms));
        let rng = Rng::new(waits_ms.len() as u64);
        let mut logged_ms: Vec<u64> =
            starts_ms.iter().map(|start_ms| start_ms / 1_000 * 1_000 + rng.below(1_000)).collect();
        logged_ms.sort_unstable();
        let truth =
            peak(&PeakWindow::new(window, StartPrecision::Milliseconds).expect("a window"), starts_ms);
        let bound = peak(&PeakWindow::new(window, StartPrecision::Seconds).expect("a window"), logged_ms);
        ensure!(bound.fine >= truth.fine && bound.coarse >= truth.coarse, "{truth:?} above {bound:?}");
        Ok(())
    });
}

/// A bound on the memory of a subject, whatever its requests.
#[test]
fn a_counter_stays_small() {
    for window in [1, 60, 86_400].map(Duration::from_secs) {
        let window = PeakWindow::new(window, StartPrecision::Seconds).expect("a window");
        let mut counter = PeakCounter::new(&window);
        for n in 0..200_000 {
            counter.count(&window, START_MS + n * 7);
            assert!(counter.heap_bytes() <= 12_000, "{} bytes", counter.heap_bytes());
        }
    }
}
