//! governor: GCRA in a `DashMap`, an atomic per key.

use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use super::{AMPLE, Answer, Contender, DAY_S, SCANT};
use crate::steps::Steps;
use crate::workload::{Arrivals, Keys};

/// governor with `String` keys, under some hasher and some clock.
pub struct Governor<S: BuildHasher + Clone, C: Clock> {
    name: &'static str,
    limiter: RateLimiter<String, DashMapStateStore<String, S>, C, NoOpMiddleware<C::Instant>>,
}

/// Default limiter.
pub fn default(answer: Answer) -> Governor<RandomState, DefaultClock> {
    Governor::new("governor", quota(answer), DefaultClock::default())
}

/// Limiter with a faster hasher.
pub fn ahash(answer: Answer) -> Governor<ahash::RandomState, DefaultClock> {
    Governor::new("governor ahash", quota(answer), DefaultClock::default())
}

/// Default limiter with `quota` per `window` steps, each decision a step.
pub fn stepped(quota: u32, window: u64, steps: Steps) -> Governor<RandomState, Stepped> {
    let quota = per(quota, Duration::from_nanos(window));
    Governor::new("governor", quota, Stepped { real: DefaultClock::default(), steps })
}

fn quota(answer: Answer) -> Quota {
    match answer {
        Answer::Allowed => per(AMPLE, Duration::from_secs(3_600)),
        Answer::Denied => per(SCANT, Duration::from_secs(DAY_S.into())),
    }
}

fn per(quota: u32, window: Duration) -> Quota {
    let burst = NonZeroU32::new(quota).expect("quotas are above 0");
    Quota::with_period(window / quota).expect("windows are above the quota").allow_burst(burst)
}

impl<S: BuildHasher + Default + Clone, C: Clock> Governor<S, C> {
    fn new(name: &'static str, quota: Quota, clock: C) -> Self {
        Self { name, limiter: RateLimiter::dashmap_with_clock_and_hasher(quota, clock, S::default()) }
    }
}

impl Governor<RandomState, Stepped> {
    /// Uses up the quota of all keys, each at another phase, so that it comes back to them one by
    /// one.
    pub fn fill(&self, keys: u64, quota: u32, window: u64) {
        let burst = NonZeroU32::new(quota).expect("quotas are above 0");
        let steps = &self.limiter.clock().steps;
        let end = steps.now();
        for (index, key) in Arrivals::each(0..keys, 1).all().iter().enumerate() {
            steps.set_now(end - index as u64 * (window / u64::from(quota)) / keys);
            let charge = self.limiter.check_key_n(&key.to_owned(), burst);
            assert!(matches!(charge, Ok(Ok(()))), "a new key has its whole quota");
        }
        steps.set_now(end);
    }
}

impl<S, C> Contender for Governor<S, C>
where
    S: BuildHasher + Clone + Send + Sync,
    C: Clock + Sync,
    C::Instant: Sync,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&self, keys: Keys<'_>) -> usize {
        // It takes a `&String`. Whoever has a `&str` needs one to copy into; an allocation can be
        // saved, so it is.
        let mut owned = String::with_capacity(64);
        let mut allowed = 0;
        for key in keys.iter() {
            owned.clear();
            owned.push_str(key);
            let decided = self.limiter.check_key(&owned);
            black_box(&decided);
            allowed += usize::from(decided.is_ok());
        }
        allowed
    }
}

/// Reads the default clock for its cost and tells the time in steps.
#[derive(Clone, Debug)]
pub struct Stepped {
    real: DefaultClock,
    steps: Steps,
}

impl Clock for Stepped {
    type Instant = Nanos;

    #[inline]
    fn now(&self) -> Nanos {
        black_box(self.real.now());
        Nanos::from(self.steps.next())
    }
}
