//! Demand of a subject: its most requests in any window, as the engine would count them without a
//! quota.

use std::time::Duration;

use slidegate::{Limit, LimitError, MAX_ENTRIES, MAX_QUOTA, MAX_WINDOW_MS, Resolution};
use slidegate_core::{Attempt, Log, LogEntry, decide_one};

use crate::access_log::{FileFacts, TimeMeaning, TimeUnit};
use crate::peak::{FINE_QUOTA, Peak};

/// Slots of a window under a quota above [`FINE_QUOTA`].
const COARSE_SLOTS: u64 = 128;
const SECOND_MS: u64 = 1_000;

/// Window in which the demand under a limit is counted: by a fine log as for small quotas, and by a
/// coarse one as for larger quotas.
#[derive(Clone, Copy, Debug)]
pub(super) struct DemandWindow {
    /// Window of the fine count.
    window_ms: u64,
    /// Largest fine count that matters. Only above it the coarse count does.
    fine_max: u64,
    /// Fine log. Its entries stay as long as the coarse log counts them, which may start late.
    fine: Limit,
    /// Log in slots, of a quota that is never reached.
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

    /// Earliest and latest true start of a request that counts at this time.
    #[inline]
    pub(super) fn true_starts_ms(self, demand_ms: u64) -> (u64, u64) {
        match self {
            Self::Milliseconds => (demand_ms, demand_ms),
            Self::Seconds => (demand_ms, demand_ms + SECOND_MS - 1),
            Self::ShiftedSeconds => (demand_ms.saturating_sub(SECOND_MS - 1), demand_ms + SECOND_MS - 1),
        }
    }

    /// Time by which the distance of two starts may be wrong.
    pub(super) fn spread_ms(self) -> u64 {
        match self {
            Self::Milliseconds => 0,
            Self::Seconds => SECOND_MS,
            Self::ShiftedSeconds => 2 * SECOND_MS,
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
    /// Fine log, until its count no longer matters.
    log: Log,
    /// Most of the fine count.
    fine: u32,
    /// From the first time on at which more than the largest fine count may count.
    coarse: Option<Box<CoarseCounter>>,
}

/// Demand in slots.
#[derive(Clone, Debug)]
struct CoarseCounter {
    log: Log,
    most: u32,
    /// Whether the fine count no longer matters.
    is_alone: bool,
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
        let own_slot_ms = limit.resolution_ms();
        let fine_slot_ms = if limit.quota() > FINE_QUOTA { 1 } else { own_slot_ms };
        let slot_ms = window_ms.div_ceil(COARSE_SLOTS).max(own_slot_ms);
        let spread_ms = stamps.spread_ms();
        if spread_ms == 0 {
            let high = DemandWindow::new((window_ms, fine_slot_ms), (window_ms, slot_ms))?;
            return Ok(Self { high, low: None });
        }
        let longest_ms = window_ms + spread_ms;
        let high = DemandWindow::new((longest_ms + fine_slot_ms - 1, 1), (longest_ms + slot_ms, slot_ms))?;
        let shortest_ms = match stamps {
            Stamps::ShiftedSeconds => window_ms.saturating_sub(spread_ms),
            _ => window_ms - window_ms % SECOND_MS,
        };
        let low_slot_ms = shortest_ms.div_ceil(COARSE_SLOTS);
        let low = (shortest_ms > low_slot_ms)
            .then(|| DemandWindow::new((shortest_ms, 1), (shortest_ms - low_slot_ms, low_slot_ms)));
        Ok(Self { high, low: low.transpose()? })
    }
}

fn log(quota: u64, window_ms: u64, resolution_ms: u64) -> Result<Limit, LimitError> {
    let window_ms = window_ms.min(MAX_WINDOW_MS);
    let limit = Limit::new(quota, Duration::from_millis(window_ms))?;
    limit.resolution(Resolution::Ms(resolution_ms.min(window_ms)))
}

impl DemandWindow {
    /// Window by the lengths and the slots of both counts.
    fn new(
        (window_ms, fine_slot_ms): (u64, u64),
        (coarse_window_ms, slot_ms): (u64, u64),
    ) -> Result<Self, LimitError> {
        let longest_ms = window_ms.max(coarse_window_ms + slot_ms);
        Ok(Self {
            window_ms,
            fine_max: FINE_QUOTA,
            // What lasts at most twice as long has at most twice as many requests.
            fine: log(2 * (FINE_QUOTA + 1), longest_ms, fine_slot_ms)?,
            coarse: log(MAX_QUOTA, coarse_window_ms, slot_ms)?,
        })
    }

    /// Window in which the admissions of a limit are counted exactly, as far as a log can.
    pub(super) fn of_admissions(limit: &Limit) -> Result<Self, LimitError> {
        let window_ms = limit.window_ms();
        Ok(Self {
            window_ms,
            fine_max: MAX_ENTRIES - 1,
            fine: log(MAX_ENTRIES, window_ms, 1)?,
            coarse: log(MAX_QUOTA, window_ms, window_ms.div_ceil(COARSE_SLOTS))?,
        })
    }

    /// Time after which a request no longer counts.
    pub(super) fn idle_ms(&self) -> u64 {
        let lasts_ms = |limit: &Limit| limit.window_ms() + limit.resolution_ms();
        lasts_ms(&self.fine).max(lasts_ms(&self.coarse))
    }
}

impl Default for DemandCounter {
    fn default() -> Self {
        Self { log: Log::EMPTY, fine: 0, coarse: None }
    }
}

impl DemandCounter {
    /// Counts a request of this time, which is not before that of the last one. Returns both counts
    /// of the window.
    #[inline]
    pub(super) fn count(&mut self, window: &DemandWindow, now_ms: u64) -> Peak {
        if self.coarse.is_some() {
            return self.count_both(window, now_ms);
        }
        let (fine, lasting) = self.count_finely(window, now_ms);
        if lasting > window.fine_max {
            return self.start_coarse(window, fine, lasting);
        }
        Peak { fine, coarse: fine }
    }

    /// Counts a request in the fine log. Returns the count of the window, and that of all entries.
    #[inline]
    fn count_finely(&mut self, window: &DemandWindow, now_ms: u64) -> (u64, u64) {
        let lasting = count(&mut self.log, &window.fine, LogEntry { stamp_ms: now_ms, count: 1 });
        let mut fine = lasting;
        if lasting > 1 {
            let left = self.log.entries().take_while(|entry| entry.stamp_ms + window.window_ms <= now_ms);
            fine -= left.map(|entry| entry.count).sum::<u64>();
        }
        self.raise(fine);
        (fine, lasting)
    }

    #[cold]
    fn count_both(&mut self, window: &DemandWindow, now_ms: u64) -> Peak {
        let Some(coarse) = &mut self.coarse else { return Peak::default() };
        let counted = coarse.count(window, LogEntry { stamp_ms: now_ms, count: 1 });
        if coarse.is_alone {
            return Peak { fine: window.fine_max + 1, coarse: counted };
        }
        let (fine, lasting) = self.count_finely(window, now_ms);
        self.drop_fine(window, fine, lasting);
        Peak { fine, coarse: counted }
    }

    /// Goes on in slots as well, with all that counts in them.
    #[cold]
    fn start_coarse(&mut self, window: &DemandWindow, fine: u64, lasting: u64) -> Peak {
        let mut coarse = CoarseCounter { log: Log::EMPTY, most: 0, is_alone: false };
        let counted = self.log.entries().fold(0, |_, entry| coarse.count(window, entry));
        self.coarse = Some(Box::new(coarse));
        self.drop_fine(window, fine, lasting);
        Peak { fine, coarse: counted }
    }

    /// Drops the fine log if its count no longer matters, or if it is full.
    fn drop_fine(&mut self, window: &DemandWindow, fine: u64, lasting: u64) {
        if fine <= window.fine_max && lasting < window.fine.quota() {
            return;
        }
        self.log = Log::EMPTY;
        self.raise(window.fine_max + 1);
        if let Some(coarse) = &mut self.coarse {
            coarse.is_alone = true;
        }
    }

    /// Highest counts until now.
    pub(super) fn peak(&self) -> Peak {
        let coarse = self.coarse.as_ref().map_or(self.fine, |coarse| coarse.most);
        Peak { fine: self.fine.into(), coarse: coarse.into() }
    }

    /// Highest count until now, as fine as it is known.
    pub(super) fn most(&self) -> u64 {
        let alone = self.coarse.as_ref().filter(|coarse| coarse.is_alone);
        u64::from(alone.map_or(0, |coarse| coarse.most).max(self.fine))
    }

    /// Takes a count that was made elsewhere.
    pub(super) fn raise(&mut self, count: u64) {
        self.fine = self.fine.max(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Drops what no longer counts, without which a new request is counted alike.
    pub(super) fn clear(&mut self) {
        self.log = Log::EMPTY;
        if let Some(coarse) = &mut self.coarse {
            coarse.log = Log::EMPTY;
        }
    }
}

impl CoarseCounter {
    fn count(&mut self, window: &DemandWindow, entry: LogEntry) -> u64 {
        let counted = count(&mut self.log, &window.coarse, entry);
        self.most = self.most.max(u32::try_from(counted).unwrap_or(u32::MAX));
        counted
    }
}

/// Adds requests of one time to a log. Returns how many it counts.
#[inline]
fn count(log: &mut Log, limit: &Limit, LogEntry { stamp_ms, count }: LogEntry) -> u64 {
    let attempt = Attempt { now_ms: stamp_ms, cost: count, holder: 0 };
    limit.quota() - decide_one(log, limit, attempt).remaining
}

#[cfg(test)]
mod tests {
    use slidegate::Outcome;
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
            let expected = if truth <= FINE_QUOTA { truth..=truth } else { truth..=late };
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

    /// Requests a window apart are in one slot too many of a coarse log, and in none of a fine one.
    #[test]
    fn a_log_of_any_quota_denies_something_exactly_if_the_peak_exceeds_it() {
        for seed in 0..400 {
            let draw = Rng::new(seed);
            let window = Duration::from_millis(draw.pick(&[100, 1_000, 7_500, 60_000]));
            let of_quota = |quota| Limit::new(quota, window).expect("a limit");
            let own = of_quota(draw.pick(&[5, 128, 129, 1_000]));
            let windows = DemandWindows::new(&own, Stamps::Milliseconds).expect("windows");
            let times = if draw.one_in(4) {
                let burst = draw.between(40, 140) as usize;
                let later_ms = START_MS + own.window_ms() - 1 + draw.below(3);
                [vec![START_MS; burst], vec![later_ms; burst]].concat()
            } else {
                times(&draw, draw.between(50, 500))
            };
            let mut counter = DemandCounter::default();
            for at_ms in &times {
                counter.count(&windows.high, *at_ms);
            }
            let peak = counter.peak();
            let near = [1, peak.fine, peak.coarse, FINE_QUOTA, FINE_QUOTA + 1];
            for quota in near.into_iter().flat_map(|near| near.max(2) - 1..=near + 1) {
                let mut log = Log::EMPTY;
                let limit = of_quota(quota);
                let denies = times.iter().any(|now_ms| {
                    let attempt = Attempt { now_ms: *now_ms, cost: 1, holder: 0 };
                    decide_one(&mut log, &limit, attempt).outcome != Outcome::Fits
                });
                assert_eq!(peak.exceeds(quota), denies, "{seed}: {limit} {peak:?}");
                assert_eq!(peak.under(quota) > quota, denies, "{seed}: {limit} {peak:?}");
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
