//! Clocks: the system's, and one for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Clock in Unix milliseconds. It is read once per request.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;
}

/// System clock: Unix time read once at the start, plus a monotonic clock. A correction of the
/// system's time does not move it.
///
/// On processors with a steady time stamp counter, a reading costs a register and a multiplication.
#[derive(Clone, Debug)]
pub struct SystemClock {
    monotonic: quanta::Clock,
    /// Raw reading at the Unix epoch, had the counter run then; it may lie before 0 and wraps.
    epoch_raw: u64,
    /// Milliseconds per raw tick, in units of 2^-64.
    ms_per_tick: u64,
}

impl SystemClock {
    /// Clock that starts at the system's Unix time.
    pub fn new() -> Self {
        /// Ticks over which the rate is measured: enough for all digits of a 64-bit factor.
        const SPAN: u64 = 1 << 50;
        let monotonic = quanta::Clock::new();
        let span_ns = monotonic.delta_as_nanos(0, SPAN);
        let ms_per_tick = (u128::from(span_ns) << 64) / (1_000_000 * u128::from(SPAN));
        let ms_per_tick = u64::try_from(ms_per_tick).unwrap_or(u64::MAX);
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ticks = (since_epoch.as_millis() << 64) / u128::from(ms_per_tick.max(1));
        let epoch_raw = monotonic.raw().wrapping_sub(ticks as u64);
        Self { monotonic, epoch_raw, ms_per_tick }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now_ms(&self) -> u64 {
        let ticks = self.monotonic.raw().wrapping_sub(self.epoch_raw);
        ((u128::from(ticks) * u128::from(self.ms_per_tick)) >> 64) as u64
    }
}

/// Clock that a test moves by hand. Clones share one time.
///
/// ```
/// use slidegate::{Limit, Limiter, ManualClock};
///
/// let clock = ManualClock::new(0);
/// let limiter = Limiter::builder([Limit::per_second(1)]).clock(clock.clone()).build()?;
/// assert!(limiter.check("alice").is_allowed());
/// clock.advance_ms(999);
/// assert!(!limiter.check("alice").is_allowed());
/// clock.advance_ms(1);
/// assert!(limiter.check("alice").is_allowed());
/// # Ok::<(), slidegate::BuildError>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// Clock that starts at this time.
    pub fn new(now_ms: u64) -> Self {
        Self(Arc::new(AtomicU64::new(now_ms)))
    }

    /// Advances the time.
    pub fn advance_ms(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sets the time, forwards or backwards.
    pub fn set_ms(&self, now_ms: u64) {
        self.0.store(now_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}
