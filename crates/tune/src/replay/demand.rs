//! Demand of a subject: its most requests in any window, as the engine would count them without a
//! quota.

use std::time::Duration;

use slidegate::{Limit, LimitError, LimitKind, MAX_ENTRIES, MAX_QUOTA, MAX_WINDOW_MS, Resolution};
use slidegate_core::{Attempt, Log, LogEntry, decide_one};

use crate::access_log::{FileFacts, TimeMeaning, TimeUnit};

/// Counts up to this one are exact to the millisecond, as those of logs of such a quota are.
const FINE_COUNT: u64 = 128;
/// Slots of a window above that.
const COARSE_SLOTS: u64 = 128;
const SECOND_MS: u64 = 1_000;

/// Window in which the demand under a limit is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct DemandWindow {
    /// Log of a quota that is never reached, in milliseconds. `None`: the limit has slots itself.
    fine: Option<Limit>,
    /// Log of a quota that is never reached, in slots.
    coarse: Limit,
}

/// What the starts of requests are known by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stamps {
    Milliseconds,
    /// Stamps of whole seconds: a start lies in its second.
    Seconds,
    /// Ends in whole seconds minus durations.
    ShiftedSeconds,
}

impl Stamps {
    /// Stamps of the least precise of these files.
    pub(super) fn of<'a>(files: impl IntoIterator<Item = &'a FileFacts>) -> Self {
        files.into_iter().fold(Self::Milliseconds, |stamps, facts| {
            let is_shifted = facts.time_meaning == TimeMeaning::End && facts.has_duration;
            match facts.time_unit {
                TimeUnit::Millisecond => stamps,
                TimeUnit::Second if is_shifted => Self::ShiftedSeconds,
                TimeUnit::Second if stamps == Self::Milliseconds => Self::Seconds,
                TimeUnit::Second => stamps,
            }
        })
    }

    /// Time at which a request counts.
    #[inline]
    pub(super) fn demand_ms(self, start_ms: u64) -> u64 {
        match self {
            Self::Milliseconds | Self::ShiftedSeconds => start_ms,
            Self::Seconds => start_ms - start_ms % SECOND_MS,
        }
    }
}

/// Windows of a limit: of the count, or of both ends of its range.
#[derive(Clone, Copy, Debug)]
pub(super) struct DemandWindows {
    pub(super) high: DemandWindow,
    pub(super) low: Option<DemandWindow>,
}

/// Demand of one subject in one window.
#[derive(Clone, Debug)]
pub(super) struct DemandCounter {
    log: Log,
    most: u32,
    is_coarse: bool,
}

impl DemandWindows {
    /// Windows of a limit, for starts with these stamps.
    ///
    /// Of two requests with whole seconds, the true distance is less than a second shorter or
    /// longer. So those that are certainly within a window are in a whole number of seconds, and
    /// those that may be within it in a second more. A start that is an end in whole seconds minus
    /// a duration may be off by a second more. In slots requests count up to a slot longer.
    pub(super) fn new(limit: &Limit, stamps: Stamps) -> Result<Self, LimitError> {
        let window_ms = limit.window_ms();
        let own_slot_ms = match limit.kind() {
            LimitKind::Log { resolution_ms } => resolution_ms,
            _ => 1,
        };
        let slot_ms = window_ms.div_ceil(COARSE_SLOTS).max(own_slot_ms);
        let has_fine = own_slot_ms == 1 || limit.quota() <= FINE_COUNT;
        let fine = |window_ms| has_fine.then(|| log(FINE_COUNT + 1, window_ms, 1)).transpose();
        let spread_ms = match stamps {
            Stamps::Milliseconds => {
                let high =
                    DemandWindow { fine: fine(window_ms)?, coarse: log(MAX_QUOTA, window_ms, slot_ms)? };
                return Ok(Self { high, low: None });
            }
            Stamps::Seconds => SECOND_MS,
            Stamps::ShiftedSeconds => 2 * SECOND_MS,
        };
        let longest_ms = window_ms + spread_ms;
        let high = DemandWindow {
            fine: fine(longest_ms + own_slot_ms - 1)?,
            coarse: log(MAX_QUOTA, longest_ms + slot_ms, slot_ms)?,
        };
        let shortest_ms = match stamps {
            Stamps::ShiftedSeconds => window_ms.saturating_sub(spread_ms),
            _ => window_ms - window_ms % SECOND_MS,
        };
        let low_slot_ms = shortest_ms.div_ceil(COARSE_SLOTS);
        let low = (shortest_ms > low_slot_ms).then(|| {
            let coarse = log(MAX_QUOTA, shortest_ms - low_slot_ms, low_slot_ms)?;
            Ok(DemandWindow { fine: fine(shortest_ms)?, coarse })
        });
        Ok(Self { high, low: low.transpose()? })
    }
}

fn log(quota: u64, window_ms: u64, resolution_ms: u64) -> Result<Limit, LimitError> {
    let window_ms = window_ms.min(MAX_WINDOW_MS);
    let limit = Limit::new(quota, Duration::from_millis(window_ms))?;
    limit.resolution(Resolution::Ms(resolution_ms.min(window_ms)))
}

impl DemandWindow {
    /// Window in which the admissions of a limit are counted exactly, as far as a log can.
    pub(super) fn of_admissions(limit: &Limit) -> Result<Self, LimitError> {
        let window_ms = limit.window_ms();
        let fine = Some(log(MAX_ENTRIES, window_ms, 1)?);
        Ok(Self { fine, coarse: log(MAX_QUOTA, window_ms, window_ms.div_ceil(COARSE_SLOTS))? })
    }

    /// Time after which a request no longer counts.
    pub(super) fn idle_ms(&self) -> u64 {
        self.coarse.window_ms() + self.coarse.resolution_ms()
    }
}

impl Default for DemandCounter {
    fn default() -> Self {
        Self { log: Log::EMPTY, most: 0, is_coarse: false }
    }
}

impl DemandCounter {
    /// Counts a request of this time, which is not before that of the last one. Returns the count
    /// of the window.
    #[inline]
    pub(super) fn count(&mut self, window: &DemandWindow, now_ms: u64) -> u64 {
        let attempt = Attempt { now_ms, cost: 1, holder: 0 };
        let limit = match &window.fine {
            Some(fine) if !self.is_coarse => fine,
            _ => &window.coarse,
        };
        let mut count = limit.quota() - decide_one(&mut self.log, limit, attempt).remaining;
        // A full log would count no further.
        if count == limit.quota() && !self.is_coarse && window.fine.is_some() {
            count = self.count_coarsely(window);
        }
        self.raise(count);
        count
    }

    /// Highest count until now.
    pub(super) fn most(&self) -> u64 {
        u64::from(self.most)
    }

    /// Takes a count that was made elsewhere.
    pub(super) fn raise(&mut self, count: u64) {
        self.most = self.most.max(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Drops what no longer counts, without which a new request is counted alike.
    pub(super) fn clear(&mut self) {
        self.log = Log::EMPTY;
    }

    /// Goes on in slots: that many times are not needed.
    #[cold]
    fn count_coarsely(&mut self, window: &DemandWindow) -> u64 {
        let entries: Vec<LogEntry> = self.log.entries().collect();
        (self.log, self.is_coarse) = (Log::EMPTY, true);
        let mut count = 0;
        for LogEntry { stamp_ms: now_ms, count: cost } in entries {
            let attempt = Attempt { now_ms, cost, holder: 0 };
            count = window.coarse.quota() - decide_one(&mut self.log, &window.coarse, attempt).remaining;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use slidegate_testkit::cases::Rng;

    use super::*;

    const START_MS: u64 = 1_700_000_000_000;

    /// Times with bursts, ascending.
    fn times(draw: &Rng, count: u64) -> Vec<u64> {
        let mut at_ms = START_MS + draw.below(5_000);
        let steps: &[u64] = draw.pick(&[&[0, 0, 1, 4], &[0, 3, 90, 700], &[1, 500, 2_000, 30_000]]);
        (0..count)
            .map(|_| {
                at_ms += draw.pick(steps) + draw.below(3);
                at_ms
            })
            .collect()
    }

    /// Most in any window, by definition.
    fn peak(times: &[u64], window_ms: u64) -> u64 {
        let most = times.iter().map(|end_ms| {
            let within = |at_ms: &&u64| **at_ms <= *end_ms && *end_ms - **at_ms < window_ms;
            times.iter().filter(within).count() as u64
        });
        most.max().unwrap_or(0)
    }

    fn most(window: &DemandWindow, times: impl IntoIterator<Item = u64>) -> u64 {
        let mut counter = DemandCounter::default();
        times.into_iter().for_each(|at_ms| {
            counter.count(window, at_ms);
        });
        counter.most()
    }

    #[test]
    fn small_peaks_are_exact_and_large_ones_a_slot_late() {
        for seed in 0..300 {
            let draw = Rng::new(seed);
            let window_ms = draw.pick(&[100, 1_000, 7_500, 60_000, 3_600_000]);
            let limit = Limit::new(5, Duration::from_millis(window_ms)).expect("a limit");
            let windows = DemandWindows::new(&limit, Stamps::Milliseconds).expect("windows");
            let times = times(&draw, 400);
            let (counted, truth) = (most(&windows.high, times.iter().copied()), peak(&times, window_ms));
            let late = peak(&times, window_ms + window_ms.div_ceil(COARSE_SLOTS));
            let expected = if truth <= FINE_COUNT { truth..=truth } else { truth..=late };
            assert!(expected.contains(&counted), "{seed}: {counted}, {expected:?}");
        }
    }

    #[test]
    fn ranges_of_whole_seconds_contain_the_truth() {
        for seed in 0..300 {
            let draw = Rng::new(seed);
            let window_ms = draw.pick(&[1_000, 1_500, 2_000, 60_000, 90_001, 3_600_000]);
            let limit = Limit::new(5, Duration::from_millis(window_ms)).expect("a limit");
            let times = times(&draw, draw.between(50, 600));
            let truth = peak(&times, window_ms);
            for stamps in [Stamps::Seconds, Stamps::ShiftedSeconds] {
                let windows = DemandWindows::new(&limit, stamps).expect("windows");
                let counted =
                    |window: &DemandWindow| most(window, times.iter().map(|at_ms| stamps.demand_ms(*at_ms)));
                let (low, high) = (windows.low.as_ref().map_or(1, counted), counted(&windows.high));
                assert!((low..=high).contains(&truth), "{seed} {stamps:?}: {low} {truth} {high}");
            }
        }
    }

    /// What is cleared after its time counts no more, and what follows is counted alike.
    #[test]
    fn idle_windows_can_be_cleared() {
        let limit = Limit::new(5, Duration::from_secs(10)).expect("a limit");
        let window = DemandWindows::new(&limit, Stamps::Seconds).expect("windows").high;
        for requests in [3, 500] {
            let mut counters = [DemandCounter::default(), DemandCounter::default()];
            for counter in &mut counters {
                (0..requests).for_each(|_| {
                    counter.count(&window, START_MS);
                });
            }
            counters[1].clear();
            let later_ms = START_MS + window.idle_ms() + 1;
            assert_eq!(counters[0].count(&window, later_ms), counters[1].count(&window, later_ms));
        }
    }
}
