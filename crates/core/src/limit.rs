//! Limit: a quota per window, of a kind.

pub(crate) mod error;
pub(crate) mod id;
pub(crate) mod parse;
mod worst_case;

use core::hash::{Hash, Hasher};
use core::hint::cold_path;
use core::num::NonZeroU64;
use core::time::Duration;

use crate::time::{MAX_TIME_MS, guess_div_rem, reciprocal};
use error::LimitError;
use id::{LimitId, PackedId, Tag, fnv1a};

/// Maximum quota and burst: up to it every intermediate result is exact, in Lua's doubles too.
pub const MAX_QUOTA: u64 = 1 << 51;
/// Maximum window: 1,000 days.
pub const MAX_WINDOW_MS: u64 = 1_000 * DAY_MS;
/// Maximum number of entries of a log, and of holders of an in-flight limit.
pub const MAX_ENTRIES: u64 = 65_536;

const SECOND_MS: u64 = 1_000;
const DAY_MS: u64 = 86_400_000;
/// Up to this quota the default resolution is a millisecond; above it, this many slots share the
/// window.
const AUTO_SLOTS: u64 = 128;
/// GCRA counts in units of 1/window; a whole burst has to stay exact in a double.
const MAX_BURST_WINDOW: u64 = 1 << 53;
/// Maximum time in which a whole burst drains: the range of time itself.
const MAX_DRAIN_MS: u64 = MAX_TIME_MS;

/// Limit: a quota per window. [`Limit::new`] and parsing are the only constructors, so every
/// `Limit` is valid.
///
/// ```
/// use slidegate_core::Limit;
/// use std::time::Duration;
///
/// let login = Limit::per_minute(5);
/// assert_eq!(login, "5/min".parse()?);
/// let search = Limit::new(600, Duration::from_secs(60))?.counter()?;
/// assert_eq!(search.quota(), 600);
/// # Ok::<(), slidegate_core::LimitError>(())
/// ```
#[derive(Clone, Copy, Eq, Debug)]
pub struct Limit {
    window_ms: NonZeroU64,
    /// Not 0, so that a cost of 1 is never above it.
    quota: NonZeroU64,
    /// A log's resolution, or GCRA's burst.
    extra: u64,
    head: PackedId,
    /// Of the window, which is divided by at every decision. Follows from it, and is no part of
    /// what a limit is.
    reciprocal: u64,
    /// How long before a counter's window ends the one before it, if full, has shrunk by a unit:
    /// what most refusals ask for. Follows too.
    freed_ms: u64,
}

impl PartialEq for Limit {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.quota == other.quota
            && self.window_ms == other.window_ms
            && self.extra == other.extra
            && self.head == other.head
    }
}

impl Hash for Limit {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.quota, self.window_ms, self.extra, self.head).hash(state);
    }
}

/// Algorithm of a limit, with its parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LimitKind {
    /// Sliding window log: never more than the quota in any window.
    Log {
        /// The length of a slot; all costs of one slot share an entry. 1 is the exact log.
        resolution_ms: u64,
    },
    /// Two aligned windows, the previous one weighted by its overlap. Two integers whatever the
    /// quota.
    Counter,
    /// One aligned window. A burst at its edge can reach twice the quota.
    Fixed,
    /// A meter that drains at quota per window and holds `burst` units.
    Gcra {
        /// The units that may come at once.
        burst: u64,
    },
    /// At most `quota` holders at a time, each for at most the window.
    InFlight,
}

/// Time resolution of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolution {
    /// A millisecond for quotas up to 128, a 128th of the window above.
    Auto,
    /// Slots of this many milliseconds.
    Ms(u64),
}

impl Limit {
    /// A sliding window log of `quota` per `window`, at the default resolution.
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

    /// A log of `quota` per second.
    ///
    /// # Panics
    /// If `quota` is 0. Use [`Limit::new`] for a quota that comes from outside the program.
    #[track_caller]
    pub const fn per_second(quota: u32) -> Self {
        Self::per(quota, 1)
    }

    /// A log of `quota` per minute.
    ///
    /// # Panics
    /// If `quota` is 0. Use [`Limit::new`] for a quota that comes from outside the program.
    #[track_caller]
    pub const fn per_minute(quota: u32) -> Self {
        Self::per(quota, 60)
    }

    /// A log of `quota` per hour.
    ///
    /// # Panics
    /// If `quota` is 0. Use [`Limit::new`] for a quota that comes from outside the program.
    #[track_caller]
    pub const fn per_hour(quota: u32) -> Self {
        Self::per(quota, 3_600)
    }

    /// A log of `quota` per 24 hours.
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

    /// The same rate as a meter that lets `burst` units come at once.
    pub const fn gcra(self, burst: u64) -> Result<Self, LimitError> {
        self.with(LimitKind::Gcra { burst })
    }

    /// The same quota and window as a log that keeps time this finely.
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

    /// Validates all parameters; every limit is made here.
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

    /// How long before a counter's window ends a count from the one before it, which was the whole
    /// quota, has shrunk by one.
    #[inline(always)]
    pub(crate) const fn freed_ms(&self) -> u64 {
        self.freed_ms
    }

    /// Units allowed per window.
    #[inline]
    pub const fn quota(&self) -> u64 {
        self.quota.get()
    }

    /// The window in milliseconds; for an in-flight limit, the longest hold.
    #[inline]
    pub const fn window_ms(&self) -> u64 {
        self.window_ms.get()
    }

    /// Where the aligned window that holds this time starts.
    #[inline(always)]
    pub(crate) fn window_start_ms(&self, at_ms: u64) -> u64 {
        at_ms - self.elapsed_ms(at_ms)
    }

    /// How far into an aligned window a time is.
    #[inline(always)]
    pub fn elapsed_ms(&self, at_ms: u64) -> u64 {
        let (_, left) = guess_div_rem(at_ms, self.window_ms(), self.reciprocal);
        if left < self.window_ms() {
            left
        } else {
            cold_path();
            at_ms % self.window_ms
        }
    }

    /// `units * ms / window`, rounded down, where that takes no division: for most of them.
    #[inline(always)]
    pub(crate) fn share(&self, units: u64, ms: u64) -> Option<u64> {
        let (share, left) = guess_div_rem(units.checked_mul(ms)?, self.window_ms(), self.reciprocal);
        if left < self.window_ms() { Some(share) } else { None }
    }

    /// Algorithm, with its parameter.
    #[inline]
    pub const fn kind(&self) -> LimitKind {
        match self.head.tag() {
            Tag::Log => LimitKind::Log { resolution_ms: self.extra },
            Tag::Counter => LimitKind::Counter,
            Tag::Fixed => LimitKind::Fixed,
            Tag::Gcra => LimitKind::Gcra { burst: self.extra },
            Tag::InFlight => LimitKind::InFlight,
        }
    }

    /// The largest cost that can ever be admitted: the quota, or GCRA's burst.
    #[inline]
    pub const fn ceiling(&self) -> u64 {
        match self.head.tag() {
            Tag::Gcra => self.extra,
            _ => self.quota(),
        }
    }

    /// Whether a request needs an id: for in-flight limits, which release it by the id.
    #[inline]
    pub const fn needs_id(&self) -> bool {
        matches!(self.head.tag(), Tag::InFlight)
    }

    /// The length of a log's slot; 1 for the kinds that have none.
    #[inline]
    pub const fn resolution_ms(&self) -> u64 {
        match self.head.tag() {
            Tag::Log => self.extra,
            _ => 1,
        }
    }

    /// [`Limit::resolution_ms`] of what is known to be a log.
    #[inline(always)]
    pub(crate) const fn log_slot_ms(&self) -> u64 {
        self.extra
    }

    /// A log's window and a slot of it: what is left of it after a peek and what is then recorded
    /// lie closer together.
    #[inline(always)]
    pub(crate) const fn log_span_ms(&self) -> u64 {
        self.window_ms.get() + self.extra
    }

    /// The most entries (or holders) that the state of this limit keeps; 1 for the kinds of
    /// constant size.
    #[inline]
    pub const fn max_entries(&self) -> usize {
        self.head.max_entries()
    }

    /// The unit in which a counter measures time: a second for windows above a day, where
    /// count × milliseconds would no longer be exact in a double.
    #[inline]
    pub(crate) const fn tick_ms(&self) -> u64 {
        if self.window_ms.get() > DAY_MS { SECOND_MS } else { 1 }
    }

    /// Whole ticks; the divisor is a constant, so that no division is left of it.
    #[inline]
    pub(crate) const fn ticks(&self, ms: u64) -> u64 {
        if self.window_ms.get() > DAY_MS { ms / SECOND_MS } else { ms }
    }

    /// The time up to the last whole tick.
    #[inline(always)]
    pub(crate) const fn whole_ticks(&self, ms: u64) -> u64 {
        if self.window_ms.get() > DAY_MS { ms - ms % SECOND_MS } else { ms }
    }

    /// The limit as four numbers, for states that are stored.
    #[inline]
    pub const fn to_words(&self) -> [u64; 4] {
        let [head, window_ms] = self.id().to_words();
        [head, self.quota(), window_ms, self.extra]
    }

    /// The limit behind [`Limit::to_words`]; numbers that are no limit give an error.
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

    /// The name of the history it counts in.
    #[inline]
    pub const fn id(&self) -> LimitId {
        LimitId { tag: self.head.tag(), name: self.head.name(), window_ms: self.window_ms() }
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
