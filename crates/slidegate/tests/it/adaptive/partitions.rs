//! Guaranteed shares, over random loads and limits that move.

use std::cell::Cell;
use std::time::{Duration, Instant};

use slidegate::adaptive::{Adaptive, AdaptiveLimiter, ConcurrencySlot, MAX_PARTITIONS, RequestCompletion};
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::ensure;

const NAMES: [&str; 4] = ["live", "batch", "best-effort", "unknown"];

const COMPLETIONS: [RequestCompletion; 4] = [
    RequestCompletion::Success,
    RequestCompletion::Success,
    RequestCompletion::Overload,
    RequestCompletion::Ignored,
];

/// A request has its completion from the start or at its end, as the driver likes.
#[derive(Clone, Debug)]
enum Step {
    Acquire { partition: usize, completion: RequestCompletion },
    Release { pick: usize, completion: RequestCompletion },
    Wait { us: u64 },
}

/// Shares of the first three names, in percent; a load leans to one partition.
fn case(rng: &Rng) -> ([u64; 3], Vec<Step>) {
    let live = rng.below(101);
    let batch = rng.below(101 - live);
    let shares = [live, batch, rng.below(101 - live - batch)];
    let favourite = rng.below(4) as usize;
    let acquisitions = rng.between(40, 80);
    let step = |_| match rng.below(100) {
        0..5 => Step::Wait { us: rng.between(1, 2_000) },
        percent if percent < acquisitions => {
            let partition = if rng.one_in(2) { favourite } else { rng.below(4) as usize };
            Step::Acquire { partition, completion: rng.pick(&COMPLETIONS) }
        }
        _ => Step::Release { pick: rng.next() as usize, completion: rng.pick(&COMPLETIONS) },
    };
    (shares, (0..4_000).map(step).collect())
}

/// Limiter that a property drives, by itself or in a layer.
pub(crate) trait Driver {
    type Slot;

    fn limiter(&self) -> &AdaptiveLimiter;
    fn wait(&mut self, time: Duration);
    fn try_acquire(&mut self, partition: &'static str, completion: RequestCompletion) -> Option<Self::Slot>;
    fn release(&mut self, slot: Self::Slot, completion: RequestCompletion);
}

/// [`AdaptiveLimiter`] with a clock.
struct Direct {
    limiter: AdaptiveLimiter,
    now: Instant,
}

impl Driver for Direct {
    type Slot = ConcurrencySlot;

    fn limiter(&self) -> &AdaptiveLimiter {
        &self.limiter
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
    }

    fn try_acquire(&mut self, partition: &'static str, _: RequestCompletion) -> Option<ConcurrencySlot> {
        self.limiter.try_acquire(partition, self.now)
    }

    fn release(&mut self, slot: ConcurrencySlot, completion: RequestCompletion) {
        self.limiter.release(slot, self.now, completion);
    }
}

fn limiter(shares: [u64; 3]) -> AdaptiveLimiter {
    let adaptive = Adaptive::aimd(Duration::from_millis(8)).backoff(0.5).window(Duration::from_millis(10));
    let partitions = NAMES.iter().zip(shares);
    let adaptive =
        partitions.fold(adaptive.min(1), |a, (name, share)| a.partition(*name, share as f64 / 100.0));
    adaptive.build().expect("the shares add up to at most 1")
}

/// Checks over random loads that a request is admitted if and only if it is within the share of its
/// partition, or the limit is not reached; and that every slot returns.
pub(crate) fn prove_shares<D: Driver>(part: u64, driver: impl Fn(AdaptiveLimiter) -> D) {
    let limits = Cell::new((u32::MAX, 0));
    prove_part(part, case, |shares, steps| {
        let mut driver = driver(limiter(*shares));
        let mut in_flight: [u32; 4] = [0; 4];
        let mut slots: Vec<(usize, D::Slot)> = Vec::new();
        for step in steps {
            match *step {
                Step::Wait { us } => driver.wait(Duration::from_micros(us)),
                Step::Acquire { partition, completion } => {
                    let (name, limit) = (NAMES[partition], driver.limiter().limit());
                    let share = shares.get(partition).copied().unwrap_or(0) as u32;
                    let guaranteed = (limit * share / 100).max(u32::from(share > 0));
                    let actual = driver.limiter().guaranteed(name);
                    ensure!(actual == guaranteed, "{name}: {actual} of {limit}, not {guaranteed}");
                    let total: u32 = in_flight.iter().sum();
                    let fits = in_flight[partition] < guaranteed || total < limit;
                    let slot = driver.try_acquire(name, completion);
                    ensure!(
                        slot.is_some() == fits,
                        "{name}: {in_flight:?} of {limit}, guaranteed {guaranteed}"
                    );
                    in_flight[partition] += u32::from(fits);
                    slots.extend(slot.map(|slot| (partition, slot)));
                    limits.set((limits.get().0.min(limit), limits.get().1.max(limit)));
                }
                Step::Release { pick, completion } if !slots.is_empty() => {
                    let (partition, slot) = slots.swap_remove(pick % slots.len());
                    driver.release(slot, completion);
                    in_flight[partition] -= 1;
                }
                Step::Release { .. } => {}
            }
            let total = driver.limiter().in_flight();
            ensure!(total == in_flight.iter().sum::<u32>(), "{total}, not {in_flight:?}");
        }
        Ok(())
    });
    let (lowest, highest) = limits.get();
    assert!(lowest < highest, "the limit never moved: {lowest} to {highest}");
}

#[test]
fn a_guaranteed_share_is_never_undercut() {
    prove_shares(100, |limiter| Direct { limiter, now: Instant::now() });
}

#[test]
fn idle_capacity_is_used_by_any_partition() {
    let adaptive = Adaptive::gradient().initial(10).partition("live", 0.9).partition("batch", 0.1);
    let limiter = adaptive.build().expect("valid settings");
    let now = Instant::now();
    let acquire = |name, count: usize| {
        let slots: Vec<ConcurrencySlot> = (0..count).map_while(|_| limiter.try_acquire(name, now)).collect();
        slots.len()
    };
    assert_eq!(acquire("batch", 20), 10, "all that is idle");
    assert_eq!(acquire("elsewhere", 1), 0, "no share");
    assert_eq!(acquire("live", 20), 9, "its share, while batch has the rest");
}

#[test]
fn as_many_partitions_as_allowed_work() {
    let adaptive = Adaptive::gradient().min(1).initial(1);
    let adaptive = (0..MAX_PARTITIONS).fold(adaptive, |a, index| a.partition(index.to_string(), 0.0625));
    let limiter = adaptive.build().expect("16 sixteenths");
    for index in 0..MAX_PARTITIONS {
        assert!(limiter.try_acquire(&index.to_string(), Instant::now()).is_some(), "{index}");
    }
    assert!(limiter.try_acquire("0", Instant::now()).is_none());
}
