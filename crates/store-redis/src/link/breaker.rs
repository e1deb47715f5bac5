//! Circuit breaker: closed while a server works, open after several failures in a row, half-open
//! while one call probes it.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::config::BreakerSettings as Settings;

/// State of a server's circuit breaker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CircuitState {
    /// The server receives calls.
    Closed,
    /// The server failed repeatedly and receives no calls.
    Open,
    /// The server failed repeatedly, and one call probes it.
    HalfOpen,
}

/// State machine of the breaker; reads no clock.
#[derive(Debug)]
struct Breaker {
    settings: Settings,
    state: BreakerState,
    cooldown: Duration,
}

#[derive(Debug)]
enum BreakerState {
    Closed { failures: u32, last: Option<Instant> },
    Open { until: Instant },
    HalfOpen,
}

/// Role of a call: an ordinary one, or the probe of a half-open breaker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallRole {
    Call,
    Probe,
}

#[derive(Clone, Copy, Debug)]
struct BreakerPass {
    role: CallRole,
    began: Instant,
}

impl Breaker {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            state: BreakerState::Closed { failures: 0, last: None },
            cooldown: settings.cooldown,
        }
    }

    fn admit(&mut self, now: Instant) -> Option<BreakerPass> {
        match self.state {
            BreakerState::Closed { .. } => Some(BreakerPass { role: CallRole::Call, began: now }),
            BreakerState::Open { until } if until <= now => {
                self.state = BreakerState::HalfOpen;
                Some(BreakerPass { role: CallRole::Probe, began: now })
            }
            BreakerState::Open { .. } | BreakerState::HalfOpen => None,
        }
    }

    fn succeeded(&mut self) {
        self.state = BreakerState::Closed { failures: 0, last: None };
        self.cooldown = self.settings.cooldown;
    }

    fn failed(&mut self, pass: BreakerPass, now: Instant) {
        match (&mut self.state, pass.role) {
            (BreakerState::HalfOpen, CallRole::Probe) => {
                self.cooldown = (self.cooldown * 2).min(self.settings.max_cooldown);
                self.state = BreakerState::Open { until: now + self.cooldown };
            }
            // Calls that were under way together fail together: one lost connection is one failure.
            (BreakerState::Closed { last: Some(last), .. }, _) if pass.began < *last => {}
            (BreakerState::Closed { failures, last }, _) => {
                *failures += 1;
                *last = Some(now);
                if *failures >= self.settings.failures {
                    self.state = BreakerState::Open { until: now + self.cooldown };
                }
            }
            (BreakerState::Open { .. } | BreakerState::HalfOpen, _) => {}
        }
    }

    /// Ends a pass without an outcome: after a probe, the next call may probe at once.
    fn forgotten(&mut self, pass: BreakerPass) {
        if pass.role == CallRole::Probe && matches!(self.state, BreakerState::HalfOpen) {
            self.state = BreakerState::Open { until: pass.began };
        }
    }

    fn health(&self) -> CircuitState {
        match self.state {
            BreakerState::Closed { .. } => CircuitState::Closed,
            BreakerState::Open { .. } => CircuitState::Open,
            BreakerState::HalfOpen => CircuitState::HalfOpen,
        }
    }
}

/// Circuit breaker of one server, shared by its callers.
#[derive(Debug)]
pub(super) struct SharedBreaker(Mutex<Breaker>);

impl SharedBreaker {
    pub(super) fn new(settings: Settings) -> Self {
        Self(Mutex::new(Breaker::new(settings)))
    }

    /// Admits a call, or `None` while the breaker is open.
    pub(super) fn enter(&self) -> Option<BreakerCall<'_>> {
        let pass = self.0.lock().admit(Instant::now())?;
        Some(BreakerCall { breaker: self, pass, outcome: None })
    }

    pub(super) fn health(&self) -> CircuitState {
        self.0.lock().health()
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum CallOutcome {
    Alive,
    Failed,
}

/// Call that the breaker admitted. Its outcome counts when this is dropped, so that a cancelled
/// future cannot leave the breaker half-open.
#[derive(Debug)]
pub(super) struct BreakerCall<'a> {
    breaker: &'a SharedBreaker,
    pass: BreakerPass,
    outcome: Option<CallOutcome>,
}

impl BreakerCall<'_> {
    pub(super) fn role(&self) -> CallRole {
        self.pass.role
    }

    pub(super) fn end(mut self, outcome: CallOutcome) {
        self.outcome = Some(outcome);
    }
}

impl Drop for BreakerCall<'_> {
    fn drop(&mut self) {
        let mut breaker = self.breaker.0.lock();
        match self.outcome {
            Some(CallOutcome::Alive) => breaker.succeeded(),
            Some(CallOutcome::Failed) => breaker.failed(self.pass, Instant::now()),
            None => breaker.forgotten(self.pass),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn breaker() -> Breaker {
        Breaker::new(Settings { failures: 3, cooldown: 200 * MS, max_cooldown: 1000 * MS })
    }

    /// Three calls, one after the other, that fail.
    fn opened(start: Instant) -> Breaker {
        let mut breaker = breaker();
        for call in 0..3 {
            let pass = breaker.admit(start + call * MS).unwrap();
            breaker.failed(pass, start + call * MS);
        }
        breaker
    }

    #[test]
    fn failures_in_a_row_open_it_and_one_probe_is_let_through() {
        let start = Instant::now();
        let mut breaker = opened(start);
        assert_eq!(breaker.health(), CircuitState::Open);
        assert!(breaker.admit(start + 201 * MS).is_none());
        let probe = breaker.admit(start + 202 * MS).unwrap();
        assert_eq!((probe.role, breaker.health()), (CallRole::Probe, CircuitState::HalfOpen));
        assert!(breaker.admit(start + 5000 * MS).is_none());
        breaker.succeeded();
        assert_eq!(breaker.health(), CircuitState::Closed);
        assert_eq!(breaker.admit(start + 5000 * MS).unwrap().role, CallRole::Call);
    }

    #[test]
    fn a_success_in_between_starts_the_count_anew() {
        let (mut breaker, start) = (breaker(), Instant::now());
        for call in 0..10 {
            let pass = breaker.admit(start + call * MS).unwrap();
            breaker.failed(pass, start + call * MS);
            if call % 2 == 1 {
                breaker.succeeded();
            }
        }
        assert_eq!(breaker.health(), CircuitState::Closed);
    }

    #[test]
    fn calls_under_way_together_fail_as_one() {
        let (mut breaker, start) = (breaker(), Instant::now());
        let together: Vec<BreakerPass> = (0..100).map(|_| breaker.admit(start).unwrap()).collect();
        for pass in together {
            breaker.failed(pass, start + 50 * MS);
        }
        assert_eq!(breaker.health(), CircuitState::Closed);
    }

    #[test]
    fn failed_probes_double_the_cooldown_to_its_bound() {
        let start = Instant::now();
        let mut breaker = opened(start);
        let mut now = start + 202 * MS;
        for expected in [400, 800, 1000, 1000] {
            let probe = breaker.admit(now).unwrap();
            breaker.failed(probe, now);
            assert!(breaker.admit(now + (expected - 1) * MS).is_none());
            now += expected * MS;
        }
    }

    #[test]
    fn a_probe_that_vanished_makes_room_for_the_next() {
        let start = Instant::now();
        let breaker = SharedBreaker(Mutex::new(opened(start - 1000 * MS)));
        drop(breaker.enter().unwrap());
        let probe = breaker.enter().unwrap();
        assert!(probe.role() == CallRole::Probe && breaker.enter().is_none());
        probe.end(CallOutcome::Alive);
        assert_eq!(breaker.health(), CircuitState::Closed);
    }

    #[test]
    fn what_ends_late_does_not_prolong_an_open_breaker() {
        let (mut breaker, start) = (breaker(), Instant::now());
        let late = breaker.admit(start).unwrap();
        for call in 1..=3 {
            let pass = breaker.admit(start + call * MS).unwrap();
            breaker.failed(pass, start + call * MS);
        }
        breaker.failed(late, start + 150 * MS);
        assert!(breaker.admit(start + 203 * MS).is_some());
    }
}
