//! Slidegate, set up for the measurements. Everything that the other files need of it is here.

use std::hint::black_box;
use std::time::Duration;

use slidegate::store::memory::DEFAULT_MAX_MEMORY;
use slidegate::{Clock, Limit, Limiter, ManualClock, Memory, Resolution, SystemClock};

use crate::steps::Steps;
use crate::workload::{Arrivals, Keys};

/// A limiter under some clock.
pub struct Ours<C: Clock = SystemClock> {
    /// Name in the tables.
    pub name: &'static str,
    limiter: Limiter<Memory, C>,
}

/// Default limiter with room for `keys`.
pub fn limiter(name: &'static str, limits: &[Limit], keys: u64) -> Ours {
    with_clock(name, limits, keys, SystemClock::new())
}

/// Limiter with a clock that is moved by hand.
pub fn manual(limit: Limit, keys: u64) -> (Ours<ManualClock>, ManualClock) {
    let clock = ManualClock::new(0);
    (with_clock("slidegate", &[limit], keys, clock.clone()), clock)
}

/// Limiter whose time each decision moves.
pub fn stepped(name: &'static str, limits: &[Limit], keys: u64, steps: Steps) -> Ours<Stepped> {
    with_clock(name, limits, keys, Stepped { real: SystemClock::new(), steps })
}

fn with_clock<C: Clock>(name: &'static str, limits: &[Limit], keys: u64, clock: C) -> Ours<C> {
    let builder = Limiter::builder(limits.iter().copied()).clock(clock);
    let builder = builder.max_memory(max_memory(limits, keys));
    Ours { name, limiter: builder.build().expect("the limits go together") }
}

/// The default bound where that is enough, or amply what the keys need: eviction is measured
/// elsewhere.
fn max_memory(limits: &[Limit], keys: u64) -> usize {
    let entries: usize = limits.iter().map(Limit::max_entries).sum();
    let beside_the_first = 512 * (limits.len() - 1);
    DEFAULT_MAX_MEMORY.max(keys as usize * (128 + 12 * entries + beside_the_first))
}

/// `quota` per `window` by two weighted windows.
pub fn counter(quota: u32, window_s: u32) -> Limit {
    counter_ms(quota, u64::from(window_s) * 1_000)
}

/// The same with a window in milliseconds.
pub fn counter_ms(quota: u32, window_ms: u64) -> Limit {
    let limit = Limit::new(quota.into(), Duration::from_millis(window_ms));
    limit.and_then(Limit::counter).expect("quota and window are in range")
}

/// `quota` per `window` by an exact log.
pub fn exact_log(quota: u32, window_ms: u64) -> Limit {
    let limit = Limit::new(quota.into(), Duration::from_millis(window_ms));
    limit.and_then(|limit| limit.resolution(Resolution::Ms(1))).expect("quota and window are in range")
}

/// `quota` per `window` by a log that keeps time as finely as it does by default.
pub fn default_log(quota: u32, window_ms: u64) -> Limit {
    Limit::new(quota.into(), Duration::from_millis(window_ms)).expect("quota and window are in range")
}

impl<C: Clock> Ours<C> {
    /// Decides about one key; says whether it was let through.
    #[inline]
    pub fn decide(&self, key: &str) -> bool {
        let verdict = self.limiter.check(key);
        // By reference: the whole answer has to be there, but it need not be copied.
        black_box(&verdict);
        verdict.is_allowed()
    }

    /// Decides a cost of several units.
    pub fn decide_cost(&self, key: &str, cost: u64) -> bool {
        self.limiter.check_n(key, cost).is_allowed()
    }

    /// Decides every arrival in turn; gives how many were let through.
    #[inline]
    pub fn run_all(&self, keys: Keys<'_>) -> usize {
        keys.iter().filter(|key| self.decide(key)).count()
    }

    /// Memory by its own accounting.
    pub fn bytes(&self) -> usize {
        self.limiter.store().stats().bytes
    }
}

#[cfg(feature = "peers")]
impl<C: Clock> crate::contenders::Contender for Ours<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&self, keys: Keys<'_>) -> usize {
        self.run_all(keys)
    }

    fn check(&self) {
        let stats = self.limiter.store().stats();
        assert_eq!(stats.forgotten_keys + stats.refused_for_room, 0, "{} had too little room", self.name);
    }
}

/// Filling of a log: a number of entries, evenly over the window, that use up the quota together.
#[derive(Clone, Copy, Debug)]
pub struct Filling {
    /// The limit's quota.
    pub quota: u64,
    /// The limit's window.
    pub window_ms: u64,
    /// Entries of every key.
    pub entries: u64,
}

impl Filling {
    /// The time between two entries.
    pub fn spacing_ms(&self) -> u64 {
        self.window_ms / self.entries
    }

    /// Lets one key come until its log is full at `end_ms`; the oldest entry leaves `phase_ms`
    /// later. `at` sets the clock.
    pub fn fill<C: Clock>(&self, ours: &Ours<C>, key: &str, end_ms: u64, phase_ms: u64, at: impl Fn(u64)) {
        for nth in 0..self.entries {
            at(end_ms + 1 + phase_ms + nth * self.spacing_ms() - self.window_ms);
            ours.decide_cost(key, self.quota / self.entries);
        }
        at(end_ms);
        while ours.decide(key) {}
    }

    /// Fills the logs of all keys, each at another phase, so that entries leave one by one and not
    /// all at once.
    pub fn fill_all(&self, ours: &Ours<Stepped>, keys: u64, steps: &Steps) {
        steps.set_step(0);
        let end_ms = steps.now();
        for (index, key) in Arrivals::each(0..keys, 1).all().iter().enumerate() {
            let phase_ms = index as u64 * self.spacing_ms() / keys;
            self.fill(ours, key, end_ms, phase_ms, |ms| steps.set_now(ms));
        }
        steps.set_now(end_ms);
    }
}

/// Reads the system's clock for its cost and tells the time in steps.
#[derive(Clone, Debug)]
pub struct Stepped {
    real: SystemClock,
    steps: Steps,
}

impl Clock for Stepped {
    #[inline]
    fn now_ms(&self) -> u64 {
        black_box(self.real.now_ms());
        self.steps.next()
    }
}
