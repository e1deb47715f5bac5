//! State of each origin: its retry budget, its pause and its pace.

use std::collections::HashMap;

use crate::advice::Backoff;
use crate::budget::RetryBudget;
use crate::pace::Interval;

/// Most origins with a state. Beyond that the one that was used least recently is forgotten.
pub(crate) const MAX_ORIGINS: usize = 1_024;

/// States of origins, by name.
#[derive(Default, Debug)]
pub(crate) struct Origins {
    states: HashMap<String, OriginState>,
}

impl Origins {
    /// State of an origin; a new one if there is none.
    pub(crate) fn state(&mut self, origin: &str, now_ms: u64) -> &mut OriginState {
        if !self.states.contains_key(origin) {
            if self.states.len() >= MAX_ORIGINS {
                self.forget_oldest();
            }
            self.states.insert(origin.to_owned(), OriginState::default());
        }
        let state = self.states.get_mut(origin).expect("it was inserted");
        state.last_use_ms = now_ms;
        state
    }

    /// State of an origin, unless it was forgotten.
    pub(crate) fn get_mut(&mut self, origin: &str) -> Option<&mut OriginState> {
        self.states.get_mut(origin)
    }

    fn forget_oldest(&mut self) {
        let oldest = self.states.iter().min_by_key(|(_, state)| state.last_use_ms);
        if let Some(origin) = oldest.map(|(origin, _)| origin.clone()) {
            self.states.remove(&origin);
        }
    }
}

/// State of an origin. Times are those of a monotonic clock.
#[derive(Default, Debug)]
pub(crate) struct OriginState {
    pub(crate) budget: RetryBudget,
    pause: Option<Pause>,
    pace: Option<OriginPace>,
    last_use_ms: u64,
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    end_ms: u64,
    backoff: Backoff,
}

#[derive(Clone, Copy, Debug)]
struct OriginPace {
    interval_ms: u64,
    /// Earliest time of the next request.
    next_ms: u64,
    end_ms: u64,
}

impl OriginState {
    /// Pauses the origin for the delay of a refusal, unless it is paused for longer.
    pub(crate) fn pause(&mut self, delay_ms: u64, now_ms: u64) {
        let end_ms = now_ms.saturating_add(delay_ms);
        if self.pause.is_none_or(|pause| pause.end_ms < end_ms) {
            self.pause = Some(Pause { end_ms, backoff: Backoff::after(delay_ms, 0) });
        }
    }

    /// Paces the requests of the origin from now on. The next one keeps its time if it has one.
    pub(crate) fn pace(&mut self, Interval { interval_ms, window_ms }: Interval, now_ms: u64) {
        let next_ms = match self.pace {
            Some(pace) if now_ms < pace.end_ms => pace.next_ms,
            _ => now_ms.saturating_add(interval_ms),
        };
        self.pace = Some(OriginPace { interval_ms, next_ms, end_ms: now_ms.saturating_add(window_ms) });
    }

    /// Time that a request has to wait: for the end of a pause, and for its turn in the pace, which
    /// is at most `max_ms` away.
    ///
    /// Requests that wait for one pause get jitter, as after a refusal: otherwise all of them would
    /// come at its end.
    pub(crate) fn hold_ms(&mut self, max_ms: u64, now_ms: u64, random: impl FnOnce() -> u64) -> u64 {
        let pause = self.pause.filter(|pause| now_ms < pause.end_ms);
        let pause_ms = pause.map_or(0, |pause| pause.end_ms - now_ms + pause.backoff.jitter_ms_of(random()));
        let pace_ms = self.turn_ms(max_ms, now_ms).map_or(0, |turn_ms| turn_ms - now_ms);
        pause_ms.max(pace_ms)
    }

    /// Time of a request in the pace, which is then taken.
    fn turn_ms(&mut self, max_ms: u64, now_ms: u64) -> Option<u64> {
        let pace = self.pace.as_mut().filter(|pace| now_ms < pace.end_ms)?;
        let latest_ms = pace.end_ms.min(now_ms.saturating_add(max_ms));
        let turn_ms = pace.next_ms.clamp(now_ms, latest_ms);
        pace.next_ms = turn_ms.saturating_add(pace.interval_ms);
        Some(turn_ms)
    }
}
