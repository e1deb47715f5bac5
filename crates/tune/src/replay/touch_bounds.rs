//! Bounds on whether a limit denies a subject something, where starts are known to the second.
//!
//! For a log that follows from the demand. The other algorithms depend on more: on where a window
//! begins, and on the time in which a meter drains. So a request is counted wherever it may have
//! started, and apart from that only where it certainly did.

use std::collections::VecDeque;

use slidegate::{Limit, LimitKind, Outcome};
use slidegate_core::{Attempt, Counter, MAX_TIME_MS, evaluate_one};

use super::demand::Stamps;

/// Windows in which a request may have started, and the one before them: windows are a second long
/// at least, and a start lies within two.
const WINDOWS: usize = 4;

/// Bounds for one subject under one limit, if no other limit denies it anything.
#[derive(Debug)]
pub(super) struct TouchBounds {
    state: BoundState,
    is_certain: bool,
    is_possible: bool,
}

#[derive(Debug)]
enum BoundState {
    /// Of a counter, or a fixed window.
    Windows(AlignedCounts),
    /// Of GCRA.
    Meter(MeterBounds),
}

/// Requests of aligned windows, from the first window on.
#[derive(Default, Debug)]
struct AlignedCounts {
    first: u64,
    certain: [u64; WINDOWS],
    possible: [u64; WINDOWS],
}

/// Debts of a meter, in units times milliseconds of window.
#[derive(Default, Debug)]
struct MeterBounds {
    /// Debt with all distances as in the log.
    logged: MeterDebt,
    /// Debt with all distances as short as they may be: of requests that are not recent.
    shortest: MeterDebt,
    /// Requests so recent that they may have started at once, by time.
    recent: VecDeque<(u64, u64)>,
}

#[derive(Clone, Copy, Default, Debug)]
struct MeterDebt {
    at_ms: u64,
    debt: u64,
}

impl TouchBounds {
    /// Bounds for a subject without requests. `None` for logs, and for limits of what is in flight.
    pub(super) fn new(limit: &Limit) -> Option<Self> {
        let state = match limit.kind() {
            LimitKind::Counter | LimitKind::Fixed => BoundState::Windows(AlignedCounts::default()),
            LimitKind::Gcra { .. } => BoundState::Meter(MeterBounds::default()),
            LimitKind::Log { .. } | LimitKind::InFlight => return None,
        };
        Some(Self { state, is_certain: false, is_possible: false })
    }

    /// Counts a request of this time, which is not before that of the last one.
    pub(super) fn count(&mut self, limit: &Limit, stamps: Stamps, demand_ms: u64) {
        let demand_ms = demand_ms.min(MAX_TIME_MS);
        let (is_certain, is_possible) = match &mut self.state {
            BoundState::Windows(counts) => counts.count(limit, stamps.true_starts_ms(demand_ms)),
            BoundState::Meter(meter) => meter.count(limit, stamps.spread_ms(), demand_ms),
        };
        self.is_certain |= is_certain;
        self.is_possible |= is_possible;
    }

    /// Whether the limit certainly denies something, and whether it possibly does.
    pub(super) fn touches(&self) -> (bool, bool) {
        (self.is_certain, self.is_possible)
    }
}

impl AlignedCounts {
    /// Counts a request that started between these times. Whether it is certainly denied, and
    /// whether one is possibly denied.
    fn count(&mut self, limit: &Limit, (earliest_ms, latest_ms): (u64, u64)) -> (bool, bool) {
        let window_ms = limit.window_ms();
        let (from, to) = (earliest_ms / window_ms, latest_ms / window_ms);
        self.advance(from.saturating_sub(1));
        let (from, to) = (self.place(from), self.place(to));
        self.possible[from..=to].iter_mut().for_each(|count| *count += 1);
        let is_possible = (from..WINDOWS).any(|place| {
            let at_ms = earliest_ms.max((self.first + place as u64) * window_ms);
            denies_last(limit, at_ms, counts_at(&self.possible, place))
        });
        let is_certain = from == to && {
            self.certain[from] += 1;
            denies_last(limit, latest_ms, counts_at(&self.certain, from))
        };
        (is_certain, is_possible)
    }

    /// Makes this window the first one, if it is later.
    fn advance(&mut self, first: u64) {
        let by = first.saturating_sub(self.first);
        for counts in [&mut self.certain, &mut self.possible] {
            let by = usize::try_from(by).map_or(WINDOWS, |by| by.min(WINDOWS));
            counts.rotate_left(by);
            counts[WINDOWS - by..].fill(0);
        }
        self.first += by;
    }

    fn place(&self, window: u64) -> usize {
        ((window - self.first) as usize).min(WINDOWS - 1)
    }
}

/// Counts of the window before one, and of the one itself.
fn counts_at(counts: &[u64; WINDOWS], place: usize) -> (u64, u64) {
    (if place > 0 { counts[place - 1] } else { 0 }, counts[place])
}

/// Whether a limit denies the last request of the current window at this time.
fn denies_last(limit: &Limit, at_ms: u64, (previous, current): (u64, u64)) -> bool {
    if current == 0 {
        return false;
    }
    if limit.kind() == LimitKind::Fixed {
        return current > limit.quota();
    }
    let attempt = Attempt { now_ms: at_ms, cost: 1, holder: 0 };
    let mut counter = Counter::new(at_ms, previous, current - 1);
    evaluate_one(&mut counter, limit, attempt).outcome != Outcome::Fits
}

impl MeterBounds {
    /// Counts a request. Whether it is certainly denied, and whether one is possibly denied. Two
    /// requests are less than the spread closer or further apart than in the log.
    fn count(&mut self, limit: &Limit, spread_ms: u64, demand_ms: u64) -> (bool, bool) {
        let (full, unit) = (limit.ceiling() * limit.window_ms(), limit.window_ms());
        self.logged.drain(limit, demand_ms);
        self.logged.add(unit);
        let is_certain = self.logged.debt > full.saturating_add(spread_ms.saturating_mul(limit.quota()));
        let until_ms = demand_ms.saturating_sub(spread_ms - 1);
        while let Some((at_ms, count)) = self.recent.pop_front_if(|(at_ms, _)| *at_ms <= until_ms) {
            self.shortest.drain(limit, at_ms);
            self.shortest.add(unit.saturating_mul(count));
        }
        match self.recent.back_mut() {
            Some((at_ms, count)) if *at_ms == demand_ms => *count += 1,
            _ => self.recent.push_back((demand_ms, 1)),
        }
        let mut debt = self.shortest;
        debt.drain(limit, until_ms);
        self.recent.iter().for_each(|(_, count)| debt.add(unit.saturating_mul(*count)));
        (is_certain, debt.debt > full)
    }
}

impl MeterDebt {
    /// Lowers the debt by what has drained until this time.
    fn drain(&mut self, limit: &Limit, at_ms: u64) {
        let drained = at_ms.saturating_sub(self.at_ms).saturating_mul(limit.quota());
        *self = Self { at_ms: self.at_ms.max(at_ms), debt: self.debt.saturating_sub(drained) };
    }

    fn add(&mut self, debt: u64) {
        self.debt = self.debt.saturating_add(debt);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use slidegate_core::State;
    use slidegate_testkit::cases::Rng;

    use super::*;

    const START_MS: u64 = 1_700_000_000_000;
    const CASES: u64 = 3_000;

    /// Limits of all algorithms that need bounds.
    fn limit(draw: &Rng) -> Limit {
        let window_ms = draw.pick(&[1_000, 1_500, 2_000, 10_000, 60_000]);
        let limit = Limit::new(draw.pick(&[1, 3, 10, 30, 150]), Duration::from_millis(window_ms));
        let limit = limit.expect("a limit");
        let limit = match draw.below(3) {
            0 => limit.counter(),
            1 => limit.fixed(),
            _ => limit.gcra(draw.between(1, limit.quota())),
        };
        limit.expect("a limit")
    }

    /// True starts, ascending, of which about as many come in a window as the limit admits.
    fn starts(draw: &Rng, limit: &Limit) -> Vec<u64> {
        let (mut at_ms, pace_ms) = (START_MS + draw.below(100_000), limit.window_ms() / limit.quota());
        let step = |_| {
            at_ms += if draw.one_in(3) { draw.below(3 * pace_ms + 2) } else { draw.below(pace_ms + 2) };
            at_ms
        };
        (0..draw.between(1, 400)).map(step).collect()
    }

    /// Starts as a log has them, in its order: whole seconds, or ends in whole seconds minus durations.
    fn logged(draw: &Rng, stamps: Stamps, starts: &[u64]) -> Vec<u64> {
        let start = |start_ms: &u64| match stamps {
            Stamps::ShiftedSeconds => {
                let duration_ms = draw.below(5_000);
                (start_ms + duration_ms) / 1_000 * 1_000 - duration_ms + draw.below(1_000)
            }
            _ => stamps.demand_ms(*start_ms),
        };
        let mut logged: Vec<u64> = starts.iter().map(start).collect();
        logged.sort_unstable();
        logged
    }

    fn denies(limit: &Limit, starts: &[u64]) -> bool {
        let mut state = State::new(limit);
        starts.iter().any(|now_ms| {
            let attempt = Attempt { now_ms: *now_ms, cost: 1, holder: 0 };
            state.decide(limit, attempt).outcome != Outcome::Fits
        })
    }

    /// What is certain is so, what is so is possible, and most cases are one or the other.
    #[test]
    fn bounds_contain_the_truth() {
        // Where a start lies in either of two seconds, windows of a second leave most cases open.
        for (stamps, most_open) in [(Stamps::Seconds, CASES / 3), (Stamps::ShiftedSeconds, CASES / 2)] {
            let mut open = 0;
            for seed in 0..CASES {
                let draw = Rng::new(seed);
                let limit = limit(&draw);
                let starts = starts(&draw, &limit);
                let mut bounds = TouchBounds::new(&limit).expect("bounds");
                for demand_ms in logged(&draw, stamps, &starts) {
                    bounds.count(&limit, stamps, demand_ms);
                }
                let ((is_certain, is_possible), truth) = (bounds.touches(), denies(&limit, &starts));
                assert!(
                    is_certain <= truth && truth <= is_possible,
                    "{seed} {stamps:?} {limit}: {is_certain} {truth} {is_possible}"
                );
                open += u64::from(is_certain != is_possible);
            }
            assert!(open < most_open, "{stamps:?}: {open} of {CASES} open");
        }
    }

    /// Windows of whole seconds are known exactly.
    #[test]
    fn a_fixed_window_of_whole_seconds_leaves_nothing_open() {
        for seed in 0..CASES {
            let draw = Rng::new(seed);
            let limit = Limit::new(draw.between(1, 20), Duration::from_secs(draw.between(1, 60)));
            let limit = limit.and_then(Limit::fixed).expect("a limit");
            let starts = starts(&draw, &limit);
            let mut bounds = TouchBounds::new(&limit).expect("bounds");
            for demand_ms in logged(&draw, Stamps::Seconds, &starts) {
                bounds.count(&limit, Stamps::Seconds, demand_ms);
            }
            let truth = denies(&limit, &starts);
            assert_eq!(bounds.touches(), (truth, truth), "{seed} {limit}");
        }
    }
}
