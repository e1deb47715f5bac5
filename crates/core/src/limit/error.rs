//! Errors of invalid limits.

use core::fmt;

use crate::limit::{MAX_ENTRIES, MAX_QUOTA};

/// Error of an invalid limit.
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
        /// The invalid quota.
        quota: u64,
    },
    /// The window is 0.
    ZeroWindow,
    /// The window has a fraction of a millisecond.
    WindowNotWholeMs,
    /// The window is above [`MAX_WINDOW_MS`](crate::MAX_WINDOW_MS).
    WindowTooLong,
    /// The resolution is 0.
    ZeroResolution,
    /// A slot would be longer than the window.
    ResolutionAboveWindow {
        /// The invalid resolution.
        resolution_ms: u64,
        /// The window it has to fit in.
        window_ms: u64,
    },
    /// The state could need more than [`MAX_ENTRIES`].
    TooManyEntries {
        /// Number of entries it could need.
        entries: u64,
    },
    /// A counter's window above a day has a fraction of a second.
    CounterNeedsSeconds {
        /// The invalid window.
        window_ms: u64,
    },
    /// The burst is 0.
    ZeroBurst,
    /// The burst is above [`MAX_QUOTA`], the burst times the window above 2^53, or a whole burst
    /// takes longer to drain than there is time.
    BurstTooLarge {
        /// The largest burst for this quota and window.
        most: u64,
    },
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax => f.write_str("expected quota/window, as in 5/min or 100/30s"),
            Self::Unit => f.write_str("expected a window in ms, s, min, h, day or week, as in 100/30s"),
            Self::ZeroQuota => f.write_str("quota must be at least 1; to deny everything, use a deny list"),
            Self::QuotaTooLarge { quota } => {
                write!(f, "quota must be at most {MAX_QUOTA} (2^51), not {quota}")
            }
            Self::ZeroWindow => f.write_str("window must be at least 1 ms"),
            Self::WindowNotWholeMs => f.write_str("window must be a whole number of milliseconds"),
            Self::WindowTooLong => f.write_str("window must be at most 1,000 days"),
            Self::ZeroResolution => f.write_str("resolution must be at least 1 ms"),
            Self::ResolutionAboveWindow { resolution_ms, window_ms } => {
                write!(f, "resolution of {resolution_ms} ms exceeds the window of {window_ms} ms")
            }
            Self::TooManyEntries { entries } => write!(
                f,
                "a key could need {entries} entries, at most {MAX_ENTRIES} are allowed; \
                 use a coarser resolution or the counter algorithm"
            ),
            Self::CounterNeedsSeconds { window_ms } => {
                write!(f, "counter windows above a day must be whole seconds, not {window_ms} ms")
            }
            Self::ZeroBurst => f.write_str("burst must be at least 1"),
            Self::BurstTooLarge { most } => {
                write!(f, "burst must be at most {most} for this quota and window")
            }
        }
    }
}

impl core::error::Error for LimitError {}
