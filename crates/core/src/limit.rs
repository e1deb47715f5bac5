//! Limit: a quota per window, of a kind.

mod constructors;
pub(crate) mod error;
pub(crate) mod id;
pub(crate) mod parse;
mod timing;
mod worst_case;

use core::hash::{Hash, Hasher};
use core::num::NonZeroU64;

use id::{LimitId, PackedId, Tag};

/// Maximum quota and burst: up to it every intermediate result is exact, in Lua's doubles too.
pub const MAX_QUOTA: u64 = 1 << 51;
/// Maximum window: 1,000 days.
pub const MAX_WINDOW_MS: u64 = 1_000 * DAY_MS;
/// Maximum number of entries of a log, and of holders of an in-flight limit.
pub const MAX_ENTRIES: u64 = 65_536;

const SECOND_MS: u64 = 1_000;
const DAY_MS: u64 = 86_400_000;

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
    /// Reciprocal of the window, by which every decision divides. Derived, so not compared.
    reciprocal: u64,
    /// Time before the end of a counter's window at which the one before it, if full, has shrunk by
    /// a unit: what most denials need. Derived too.
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
        /// Length of a slot; all costs of one slot share an entry. 1 is the exact log.
        resolution_ms: u64,
    },
    /// Two aligned windows, the previous one weighted by its overlap. Two integers whatever the
    /// quota.
    Counter,
    /// One aligned window. A burst at its edge can reach twice the quota.
    Fixed,
    /// Meter that drains at quota per window, with a capacity of `burst` units.
    Gcra {
        /// Units that may be admitted at once.
        burst: u64,
    },
    /// At most `quota` holders at a time, each for at most the window.
    InFlight,
}

impl LimitKind {
    /// Name, as in policy files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Log { .. } => "log",
            Self::Counter => "counter",
            Self::Fixed => "fixed",
            Self::Gcra { .. } => "gcra",
            Self::InFlight => "in_flight",
        }
    }
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
    /// Units allowed per window.
    #[inline]
    pub const fn quota(&self) -> u64 {
        self.quota.get()
    }

    /// Window in milliseconds; for an in-flight limit, the longest hold.
    #[inline]
    pub const fn window_ms(&self) -> u64 {
        self.window_ms.get()
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

    /// Largest cost that can ever be admitted: the quota, or GCRA's burst.
    #[inline]
    pub const fn ceiling(&self) -> u64 {
        match self.head.tag() {
            Tag::Gcra => self.extra,
            _ => self.quota(),
        }
    }

    /// True if a request needs an id: for in-flight limits, which release it by the id.
    #[inline]
    pub const fn needs_id(&self) -> bool {
        matches!(self.head.tag(), Tag::InFlight)
    }

    /// Length of a log's slot; 1 for the kinds that have none.
    #[inline]
    pub const fn resolution_ms(&self) -> u64 {
        match self.head.tag() {
            Tag::Log => self.extra,
            _ => 1,
        }
    }

    /// Maximum number of entries (or holders) of a state; 1 for the kinds of constant size.
    #[inline]
    pub const fn max_entries(&self) -> usize {
        self.head.max_entries()
    }

    /// Limit as four numbers, for states that are stored.
    #[inline]
    pub const fn to_words(&self) -> [u64; 4] {
        let [head, window_ms] = self.id().to_words();
        [head, self.quota(), window_ms, self.extra]
    }

    /// Id of the history in which it counts.
    #[inline]
    pub const fn id(&self) -> LimitId {
        LimitId { tag: self.head.tag(), name: self.head.name(), window_ms: self.window_ms() }
    }
}
