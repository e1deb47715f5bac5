//! Peak of a subject in a window: the most that was counted right after one of its requests.
//!
//! The engine counts, with a quota that it never reaches. A quota denies the subject something
//! exactly if its peak is above it, because nothing differs before the first denial. A log of a
//! quota up to [`FINE_QUOTA`] has a resolution of 1 ms, one above it a resolution of a 128th of the
//! window. So there are two peaks, and the first is counted no further than it matters.

use std::time::Duration;

use slidegate::{Limit, LimitError, Resolution};
use slidegate_core::{Attempt, State};

use crate::access_log::{FileFacts, TimeMeaning, TimeUnit};

/// Largest quota whose log has a resolution of 1 ms.
pub const FINE_QUOTA: u64 = 128;
/// Slots of the log of a larger quota.
const COARSE_SLOTS: u64 = 128;
/// Length of the second in which a stamp of whole seconds lies.
const STAMP_MS: u64 = 1_000;

/// Window in which peaks are counted, at two resolutions: a limit for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeakWindow {
    window_ms: u64,
    /// Its quota is one more than the largest of this resolution. No more needs to be counted.
    fine: Limit,
    coarse: Limit,
}

/// Precision of the starts of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartPrecision {
    /// A millisecond or better.
    Milliseconds,
    /// A second: stamps are starts, or ends without a duration.
    Seconds,
    /// A second, from which a duration was subtracted: a start lies in either of two.
    ShiftedSeconds,
}

impl StartPrecision {
    /// Precision of the least precise of these files.
    pub fn of<'a>(files: impl IntoIterator<Item = &'a FileFacts>) -> Self {
        let spread = |precision: &Self| precision.spread_ms();
        files.into_iter().map(Self::of_file).max_by_key(spread).unwrap_or(Self::Milliseconds)
    }

    fn of_file(facts: &FileFacts) -> Self {
        match facts.time_unit {
            TimeUnit::Millisecond => Self::Milliseconds,
            TimeUnit::Second if facts.time_meaning == TimeMeaning::End && facts.has_duration => {
                Self::ShiftedSeconds
            }
            TimeUnit::Second => Self::Seconds,
        }
    }

    /// Time by which the distance of two starts may be wrong.
    fn spread_ms(self) -> u64 {
        match self {
            Self::Milliseconds => 0,
            Self::Seconds => STAMP_MS,
            Self::ShiftedSeconds => 2 * STAMP_MS,
        }
    }
}

impl PeakWindow {
    /// Window over requests whose starts have this precision. Without milliseconds its peaks are
    /// upper bounds of the true ones.
    ///
    /// Two requests less than a window apart are at most the spread further apart in the log. A slot
    /// of the true times may begin a slot earlier than that.
    pub fn new(window: Duration, precision: StartPrecision) -> Result<Self, LimitError> {
        let exact = Limit::new(slidegate::MAX_QUOTA, window)?;
        let (window_ms, spread_ms) = (exact.window_ms(), precision.spread_ms());
        let longest = Duration::from_millis(window_ms + spread_ms);
        let fine = Limit::new(FINE_QUOTA + 1, longest)?.resolution(Resolution::Ms(1))?;
        if spread_ms == 0 {
            return Ok(Self { window_ms, fine, coarse: exact });
        }
        let slot_ms = window_ms.div_ceil(COARSE_SLOTS);
        let coarse = Limit::new(slidegate::MAX_QUOTA, longest + Duration::from_millis(slot_ms))?;
        Ok(Self { window_ms, fine, coarse: coarse.resolution(Resolution::Ms(slot_ms))? })
    }

    /// Length of the window that a limit would have.
    pub fn window_ms(&self) -> u64 {
        self.window_ms
    }
}

/// Peak of a subject in a window.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Peak {
    /// Most at a resolution of 1 ms; one above [`FINE_QUOTA`] stands for all that is above it.
    pub fine: u64,
    /// Most at a resolution of a 128th of the window.
    pub coarse: u64,
}

impl Peak {
    /// Whether a log of this quota, in the same window, would deny the subject something.
    pub fn exceeds(self, quota: u64) -> bool {
        if quota > FINE_QUOTA { self.coarse > quota } else { self.fine > quota }
    }

    /// The peak as one number.
    pub fn most(self) -> u64 {
        if self.fine > FINE_QUOTA { self.coarse } else { self.fine }
    }

    /// The peak as one number that is above this quota exactly if a log of it would deny the subject
    /// something.
    pub fn under(self, quota: u64) -> u64 {
        if quota > FINE_QUOTA && self.coarse > FINE_QUOTA { self.coarse } else { self.most() }
    }
}

/// Counter of the peak of one subject in one window.
#[derive(Clone, Debug)]
pub struct PeakCounter {
    fine: State,
    coarse: State,
    peak: Peak,
}

impl PeakCounter {
    /// Counter of a subject without requests.
    pub fn new(window: &PeakWindow) -> Self {
        let PeakWindow { fine, coarse, .. } = window;
        Self { fine: State::new(fine), coarse: State::new(coarse), peak: Peak::default() }
    }

    /// Counts a request of this time, which is not before that of the last one.
    pub fn count(&mut self, window: &PeakWindow, now_ms: u64) {
        let attempt = Attempt { now_ms, cost: 1, holder: 0 };
        if self.peak.fine <= FINE_QUOTA {
            let left = self.fine.decide(&window.fine, attempt).remaining;
            self.peak.fine = self.peak.fine.max(window.fine.quota() - left);
            if self.peak.fine > FINE_QUOTA {
                self.fine = State::new(&window.fine);
            }
        }
        let left = self.coarse.decide(&window.coarse, attempt).remaining;
        self.peak.coarse = self.peak.coarse.max(window.coarse.quota() - left);
    }

    /// Peak until now.
    pub fn peak(&self) -> Peak {
        self.peak
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.fine.heap_bytes() + self.coarse.heap_bytes()
    }
}
