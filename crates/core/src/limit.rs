//! What is allowed: a quota per window, of a kind.

use core::fmt;
use core::time::Duration;

/// The largest quota and burst: up to here every intermediate result is exact, in Lua's doubles too.
pub const MAX_QUOTA: u64 = 1 << 51;
/// The longest window: 1,000 days.
pub const MAX_WINDOW_MS: u64 = 1_000 * DAY_MS;
/// The most entries one log may keep, and the most holders of an in-flight limit.
pub const MAX_ENTRIES: u64 = 65_536;

const DAY_MS: u64 = 86_400_000;
/// Up to this quota the default resolution is a millisecond; above it, this many slots share the window.
const AUTO_SLOTS: u64 = 128;
/// GCRA counts in units of 1/window; a whole burst has to stay exact in a double.
const MAX_BURST_WINDOW: u64 = 1 << 53;

/// A quota per window. [`Limit::new`] and parsing are the only ways to one, so every `Limit` is usable.
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limit {
    quota: u64,
    window_ms: u64,
    kind: Kind,
    name: u32,
}

/// How a limit counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Sliding window log: never more than the quota in any window.
    Log {
        /// The length of a slot; all costs of one slot share an entry. 1 is the exact log.
        resolution_ms: u64,
    },
    /// Two aligned windows, the previous one weighted by its overlap. Two integers whatever the quota.
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

/// How finely a log keeps time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolution {
    /// A millisecond for quotas up to 128, a 128th of the window above.
    Auto,
    /// Slots of this many milliseconds.
    Ms(u64),
}

/// Names the history that a limit counts in. The quota is not part of it: a changed quota keeps the history.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LimitId {
    kind: u8,
    name: u32,
    window_ms: u64,
}

impl Limit {
    /// A sliding window log of `quota` per `window`, at the default resolution.
    pub const fn new(quota: u64, window: Duration) -> Result<Self, LimitError> {
        let window_ms = match whole_ms(window) {
            Ok(ms) => ms,
            Err(error) => return Err(error),
        };
        Self { quota, window_ms, kind: Kind::Log { resolution_ms: 1 }, name: 0 }.resolution(Resolution::Auto)
    }

    /// At most `quota` holders at a time; one that never releases frees its place after `hold`.
    pub const fn in_flight(quota: u64, hold: Duration) -> Result<Self, LimitError> {
        match whole_ms(hold) {
            Ok(window_ms) => Self { quota, window_ms, kind: Kind::InFlight, name: 0 }.checked(),
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
            Err(_) => panic!("a quota is at least 1"),
        }
    }

    /// The same quota and window, counted by two weighted windows.
    pub const fn counter(self) -> Result<Self, LimitError> {
        Self { kind: Kind::Counter, ..self }.checked()
    }

    /// The same quota and window, counted in one aligned window.
    pub const fn fixed(self) -> Result<Self, LimitError> {
        Self { kind: Kind::Fixed, ..self }.checked()
    }

    /// The same rate as a meter that lets `burst` units come at once.
    pub const fn gcra(self, burst: u64) -> Result<Self, LimitError> {
        Self { kind: Kind::Gcra { burst }, ..self }.checked()
    }

    /// The same quota and window as a log that keeps time this finely.
    pub const fn resolution(self, resolution: Resolution) -> Result<Self, LimitError> {
        let resolution_ms = match resolution {
            Resolution::Ms(ms) => ms,
            Resolution::Auto if self.quota <= AUTO_SLOTS => 1,
            Resolution::Auto => self.window_ms.div_ceil(AUTO_SLOTS),
        };
        Self { kind: Kind::Log { resolution_ms }, ..self }.checked()
    }

    /// The same limit with a history of its own, apart from other limits of this kind and window.
    pub const fn named(self, name: &str) -> Self {
        Self { name: fnv1a(name.as_bytes()), ..self }
    }

    const fn checked(self) -> Result<Self, LimitError> {
        if self.quota == 0 {
            return Err(LimitError::ZeroQuota);
        }
        if self.quota > MAX_QUOTA {
            return Err(LimitError::QuotaTooLarge { quota: self.quota });
        }
        if self.window_ms > MAX_WINDOW_MS {
            return Err(LimitError::WindowTooLong);
        }
        match self.kind {
            Kind::Log { resolution_ms: 0 } => Err(LimitError::ZeroResolution),
            Kind::Log { resolution_ms } if resolution_ms > self.window_ms => {
                Err(LimitError::ResolutionAboveWindow { resolution_ms, window_ms: self.window_ms })
            }
            Kind::Log { .. } | Kind::InFlight if self.max_entries() > MAX_ENTRIES => {
                Err(LimitError::TooManyEntries { entries: self.max_entries() })
            }
            Kind::Counter if self.window_ms > DAY_MS && !self.window_ms.is_multiple_of(1_000) => {
                Err(LimitError::CounterNeedsSeconds { window_ms: self.window_ms })
            }
            Kind::Gcra { burst: 0 } => Err(LimitError::ZeroBurst),
            Kind::Gcra { burst } if burst > MAX_BURST_WINDOW / self.window_ms => {
                Err(LimitError::BurstTooLarge { most: MAX_BURST_WINDOW / self.window_ms })
            }
            _ => Ok(self),
        }
    }

    /// Units allowed per window.
    #[inline]
    pub const fn quota(&self) -> u64 {
        self.quota
    }

    /// The window in milliseconds; for an in-flight limit, the longest hold.
    #[inline]
    pub const fn window_ms(&self) -> u64 {
        self.window_ms
    }

    /// How it counts.
    #[inline]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The largest cost that can ever be admitted: the quota, or GCRA's burst.
    #[inline]
    pub const fn ceiling(&self) -> u64 {
        match self.kind {
            Kind::Gcra { burst } => burst,
            _ => self.quota,
        }
    }

    /// The length of a log's slot; 1 for the kinds that have none.
    #[inline]
    pub const fn resolution_ms(&self) -> u64 {
        match self.kind {
            Kind::Log { resolution_ms } => resolution_ms,
            _ => 1,
        }
    }

    /// The most entries (or holders) that the state of this limit keeps; 1 for the kinds of constant size.
    pub const fn max_entries(&self) -> u64 {
        let slots = match self.kind {
            Kind::Log { resolution_ms } => self.window_ms / resolution_ms + 2,
            Kind::InFlight => self.quota,
            _ => 1,
        };
        if slots < self.quota { slots } else { self.quota }
    }

    /// The most units that any window can see: the quota, but for the kinds that align their windows
    /// or let a burst come on top of the rate.
    pub const fn worst_case(&self) -> u64 {
        let (quota, window) = (self.quota, self.window_ms);
        match self.kind {
            Kind::Log { .. } | Kind::InFlight => quota,
            _ if window == 1 => self.ceiling(),
            // A burst ends a window, a trickle follows until the burst is about to leave the view.
            Kind::Counter if self.tick_ms() == 1 => 2 * quota - (2 * quota).div_ceil(window),
            Kind::Counter => 2 * quota - quota.div_ceil(window / self.tick_ms()),
            Kind::Fixed => 2 * quota,
            Kind::Gcra { burst } => burst + quota - quota.div_ceil(window),
        }
    }

    /// The unit in which a counter measures elapsed time: a second for windows above a day, where
    /// count × milliseconds would no longer be exact in a double.
    #[inline]
    pub(crate) const fn tick_ms(&self) -> u64 {
        if self.window_ms > DAY_MS { 1_000 } else { 1 }
    }

    /// The name of the history it counts in.
    pub const fn id(&self) -> LimitId {
        let kind = match self.kind {
            Kind::Log { .. } => 0,
            Kind::Counter => 1,
            Kind::Fixed => 2,
            Kind::Gcra { .. } => 3,
            Kind::InFlight => 4,
        };
        LimitId { kind, name: self.name, window_ms: self.window_ms }
    }
}

impl LimitId {
    /// The id as bytes, for permits and stored states.
    pub const fn to_bytes(self) -> [u8; 13] {
        let (n, w) = (self.name.to_le_bytes(), self.window_ms.to_le_bytes());
        [self.kind, n[0], n[1], n[2], n[3], w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]]
    }
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

const fn fnv1a(bytes: &[u8]) -> u32 {
    let (mut hash, mut at) = (0x811c_9dc5_u32, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

/// Why something is not a limit, and what would be one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LimitError {
    /// The text is not `quota/window`.
    Syntax,
    /// The text names a unit that does not exist.
    Unit,
    /// The quota is 0.
    ZeroQuota,
    /// The quota is above [`MAX_QUOTA`].
    QuotaTooLarge {
        /// The quota that was asked for.
        quota: u64,
    },
    /// The window is 0.
    ZeroWindow,
    /// The window has a fraction of a millisecond.
    WindowNotWholeMs,
    /// The window is above [`MAX_WINDOW_MS`].
    WindowTooLong,
    /// The resolution is 0.
    ZeroResolution,
    /// A slot would be longer than the window.
    ResolutionAboveWindow {
        /// The slot that was asked for.
        resolution_ms: u64,
        /// The window it has to fit in.
        window_ms: u64,
    },
    /// The state could need more than [`MAX_ENTRIES`].
    TooManyEntries {
        /// What it could need.
        entries: u64,
    },
    /// A counter's window above a day has a fraction of a second.
    CounterNeedsSeconds {
        /// The window that was asked for.
        window_ms: u64,
    },
    /// The burst is 0.
    ZeroBurst,
    /// The burst times the window is above 2^53.
    BurstTooLarge {
        /// The largest burst for this window.
        most: u64,
    },
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax => f.write_str("a limit is written quota/window, as in 5/min or 100/30s"),
            Self::Unit => f.write_str("a window ends in ms, s, min, h, day or week, as in 100/30s"),
            Self::ZeroQuota => f.write_str("a quota is at least 1; to refuse everything, use a deny list"),
            Self::QuotaTooLarge { quota } => write!(f, "a quota is at most {MAX_QUOTA} (2^51), not {quota}"),
            Self::ZeroWindow => f.write_str("a window is at least a millisecond"),
            Self::WindowNotWholeMs => f.write_str("a window is a whole number of milliseconds"),
            Self::WindowTooLong => f.write_str("a window is at most 1,000 days"),
            Self::ZeroResolution => f.write_str("a resolution is at least a millisecond"),
            Self::ResolutionAboveWindow { resolution_ms, window_ms } => {
                write!(f, "a resolution of {resolution_ms} ms does not fit a window of {window_ms} ms")
            }
            Self::TooManyEntries { entries } => write!(
                f,
                "one key could keep {entries} entries and at most {MAX_ENTRIES} are allowed: \
                 use a coarser resolution, or the counter"
            ),
            Self::CounterNeedsSeconds { window_ms } => {
                write!(f, "a counter's window above a day is a whole number of seconds, not {window_ms} ms")
            }
            Self::ZeroBurst => f.write_str("a burst is at least 1"),
            Self::BurstTooLarge { most } => write!(f, "a burst with this window is at most {most}"),
        }
    }
}

impl core::error::Error for LimitError {}
