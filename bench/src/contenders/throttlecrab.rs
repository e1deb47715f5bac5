//! throttlecrab: GCRA in a `HashMap` with ahash that one owner changes.
//!
//! The periodic store, sized for the keys beforehand: the adaptive one rescans its table on every
//! write once it is three quarters full, the probabilistic one on every thousandth.

use std::hint::black_box;
use std::sync::Mutex;
use std::time::SystemTime;

use throttlecrab::{PeriodicStore, RateLimiter};

use super::{AMPLE, Answer, Contender, DAY_S, SCANT};
use crate::workload::Keys;

/// throttlecrab behind a lock, which it needs as soon as two threads ask.
pub struct Throttlecrab {
    limiter: Mutex<RateLimiter<PeriodicStore>>,
    quota: i64,
    window_s: i64,
}

impl Throttlecrab {
    /// Limiter with room for `keys`.
    pub fn new(answer: Answer, keys: u64) -> Self {
        let (quota, window_s) = match answer {
            Answer::Allowed => (AMPLE, 3_600),
            Answer::Denied => (SCANT, DAY_S),
        };
        let store = PeriodicStore::with_capacity(keys as usize);
        Self { limiter: Mutex::new(RateLimiter::new(store)), quota: quota.into(), window_s: window_s.into() }
    }
}

#[inline]
fn decide(limiter: &mut RateLimiter<PeriodicStore>, key: &str, quota: i64, window_s: i64) -> bool {
    let decided = limiter.rate_limit(key, quota, quota, window_s, 1, SystemTime::now());
    black_box(&decided);
    decided.is_ok_and(|(allowed, _)| allowed)
}

impl Contender for Throttlecrab {
    fn name(&self) -> &'static str {
        "throttlecrab"
    }

    fn run(&self, keys: Keys<'_>) -> usize {
        let allowed = keys.iter().filter(|key| {
            let mut limiter = self.limiter.lock().expect("no thread panics");
            decide(&mut limiter, key, self.quota, self.window_s)
        });
        allowed.count()
    }

    fn run_alone(&mut self, keys: Keys<'_>) -> usize {
        let limiter = self.limiter.get_mut().expect("no thread panics");
        keys.iter().filter(|key| decide(limiter, key, self.quota, self.window_s)).count()
    }
}
