//! Constructors of limits, which validate all parameters.

use core::num::NonZeroU64;
use core::time::Duration;

use super::error::LimitError;
use super::id::{PackedId, Tag, fnv1a};
use super::{DAY_MS, Limit, LimitKind, MAX_ENTRIES, MAX_QUOTA, MAX_WINDOW_MS, Resolution, SECOND_MS};
use crate::time::{MAX_TIME_MS, reciprocal};

/// Up to this quota the default resolution is a millisecond; above it, this many slots share the
/// window.
const AUTO_SLOTS: u64 = 128;
/// GCRA counts in units of 1/window; a whole burst has to stay exact in a double.
const MAX_BURST_WINDOW: u64 = 1 << 53;
/// Maximum time in which a whole burst drains: the range of time itself.
const MAX_DRAIN_MS: u64 = MAX_TIME_MS;

impl Limit {
    /// Sliding window log of `quota` per `window`, at the default resolution.
    pub const fn new(quota: u64, window: Duration) -> Result<Self, LimitError> {
        let window_ms = match whole_ms(window) {
            Ok(ms) => ms,
            Err(error) => return Err(error),
        };
        Self::log(quota, window_ms, Resolution::Auto, 0)
    }

    /// In-flight limit: at most `quota` holders at a time, each released after `hold` at the
    /// latest.
    pub const fn in_flight(quota: u64, hold: Duration) -> Result<Self, LimitError> {
        match whole_ms(hold) {
            Ok(window_ms) => Self::checked(quota, window_ms, LimitKind::InFlight, 0),
            Err(error) => Err(error),
        }
    }

    /// Log of `quota` per second.
    ///
    /// # Panics
    /// If `quota` is 0. Use [`Limit::new`] for a quota that comes from outside the program.
    #[track_caller]
    pub const fn per_second(quota: u32) -> Self {
        Self::per(quota, 1)
    }

    /// Log of `quota` per minute.
    ///
    /// # Panics
    /// If `quota` is 0. Use [`Limit::new`] for a quota that comes from outside the program.
    #[track_caller]
    pub const fn per_minute(quota: u32) -> Self {
        Self::per(quota, 60)
    }

    /// Log of `quota` per hour.
    ///
    /// # Panics
    /// If `quota` is 0. Use [`Limit::new`] for a quota that comes from outside the program.
    #[track_caller]
    pub const fn per_hour(quota: u32) -> Self {
        Self::per(quota, 3_600)
    }

    /// Log of `quota` per 24 hours.
    ///
    /// # Panics
    /// If `quota` is 0. Use [`Limit::new`] for a quota that comes from outside the program.
    #[track_caller]
    pub const fn per_day(quota: u32) -> Self {
        Self::per(quota, 86_400)
    }

    #[track_caller]
    const fn per(quota: u32, seconds: u64) -> Self {
        match Self::new(quota as u64, Duration::from_secs(seconds)) {
            Ok(limit) => limit,
            Err(_) => panic!("quota must be at least 1"),
        }
    }

    /// The same quota and window, counted by two weighted windows.
    pub const fn counter(self) -> Result<Self, LimitError> {
        self.with(LimitKind::Counter)
    }

    /// The same quota and window, counted in one aligned window.
    pub const fn fixed(self) -> Result<Self, LimitError> {
        self.with(LimitKind::Fixed)
    }

    /// The same rate as a meter that admits `burst` units at once.
    pub const fn gcra(self, burst: u64) -> Result<Self, LimitError> {
        self.with(LimitKind::Gcra { burst })
    }

    /// The same quota and window as a log of this resolution.
    pub const fn resolution(self, resolution: Resolution) -> Result<Self, LimitError> {
        Self::log(self.quota(), self.window_ms(), resolution, self.head.name())
    }

    const fn log(quota: u64, window_ms: u64, resolution: Resolution, name: u32) -> Result<Self, LimitError> {
        let resolution_ms = match resolution {
            Resolution::Ms(ms) => ms,
            Resolution::Auto if quota <= AUTO_SLOTS => 1,
            Resolution::Auto => window_ms.div_ceil(AUTO_SLOTS),
        };
        Self::checked(quota, window_ms, LimitKind::Log { resolution_ms }, name)
    }

    const fn with(self, kind: LimitKind) -> Result<Self, LimitError> {
        Self::checked(self.quota(), self.window_ms(), kind, self.head.name())
    }

    /// The same limit with a history of its own, apart from other limits of this kind and window.
    pub const fn named(self, name: &str) -> Self {
        let head = PackedId::new(self.head.tag(), fnv1a(name.as_bytes()), self.head.max_entries() as u64);
        Self { head, ..self }
    }

    /// Limit with validated parameters; every limit is made here.
    const fn checked(quota: u64, window_ms: u64, kind: LimitKind, name: u32) -> Result<Self, LimitError> {
        let Some(some_quota) = NonZeroU64::new(quota) else {
            return Err(LimitError::ZeroQuota);
        };
        if quota > MAX_QUOTA {
            return Err(LimitError::QuotaTooLarge { quota });
        }
        let Some(some_window_ms) = NonZeroU64::new(window_ms) else {
            return Err(LimitError::ZeroWindow);
        };
        if window_ms > MAX_WINDOW_MS {
            return Err(LimitError::WindowTooLong);
        }
        let (tag, extra, entries) = match kind {
            LimitKind::Log { resolution_ms: 0 } => return Err(LimitError::ZeroResolution),
            LimitKind::Log { resolution_ms } if resolution_ms > window_ms => {
                return Err(LimitError::ResolutionAboveWindow { resolution_ms, window_ms });
            }
            LimitKind::Log { resolution_ms } => {
                (Tag::Log, resolution_ms, window_ms.div_ceil(resolution_ms) + 2)
            }
            LimitKind::Counter if window_ms > DAY_MS && !window_ms.is_multiple_of(SECOND_MS) => {
                return Err(LimitError::CounterNeedsSeconds { window_ms });
            }
            LimitKind::Counter => (Tag::Counter, 0, 1),
            LimitKind::Fixed => (Tag::Fixed, 0, 1),
            LimitKind::Gcra { burst: 0 } => return Err(LimitError::ZeroBurst),
            LimitKind::Gcra { burst } if burst > max_burst(quota, window_ms) => {
                return Err(LimitError::BurstTooLarge { most: max_burst(quota, window_ms) });
            }
            LimitKind::Gcra { burst } => (Tag::Gcra, burst, 1),
            LimitKind::InFlight => (Tag::InFlight, 0, quota),
        };
        let entries = if entries < quota { entries } else { quota };
        if entries > MAX_ENTRIES {
            return Err(LimitError::TooManyEntries { entries });
        }
        let head = PackedId::new(tag, name, entries);
        let reciprocal = reciprocal(some_window_ms);
        let limit =
            Self { quota: some_quota, window_ms: some_window_ms, extra, head, reciprocal, freed_ms: 0 };
        // A quota is at most 2^51 and the result at most a window.
        let freed = (quota - 1) as u128 * limit.ticks(window_ms) as u128 / quota as u128;
        Ok(Self { freed_ms: freed as u64 * limit.tick_ms(), ..limit })
    }

    /// Limit from [`Limit::to_words`]; an error if the numbers are not a valid limit.
    pub const fn from_words([head, quota, window_ms, extra]: [u64; 4]) -> Result<Self, LimitError> {
        let kind = match Tag::from_word(head) {
            Some(Tag::Log) => LimitKind::Log { resolution_ms: extra },
            Some(Tag::Counter) => LimitKind::Counter,
            Some(Tag::Fixed) => LimitKind::Fixed,
            Some(Tag::Gcra) => LimitKind::Gcra { burst: extra },
            Some(Tag::InFlight) => LimitKind::InFlight,
            None => return Err(LimitError::Syntax),
        };
        Self::checked(quota, window_ms, kind, (head >> 32) as u32)
    }
}

/// Maximum burst whose debt and waits are exact.
const fn max_burst(quota: u64, window_ms: u64) -> u64 {
    // A quota of 2^51 times 2^47 ms does not fit 64 bits.
    let drained = quota as u128 * MAX_DRAIN_MS as u128 / window_ms as u128;
    let exact = (MAX_BURST_WINDOW / window_ms) as u128;
    let most = if drained < exact { drained } else { exact };
    if most < MAX_QUOTA as u128 { most as u64 } else { MAX_QUOTA }
}

const fn whole_ms(window: Duration) -> Result<u64, LimitError> {
    let ms = window.as_millis();
    if window.is_zero() {
        Err(LimitError::ZeroWindow)
    } else if !window.subsec_nanos().is_multiple_of(1_000_000) {
        Err(LimitError::WindowNotWholeMs)
    } else if ms > MAX_WINDOW_MS as u128 {
        Err(LimitError::WindowTooLong)
    } else {
        Ok(ms as u64)
    }
}
