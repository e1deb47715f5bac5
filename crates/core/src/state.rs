//! State of one key under one limit of any kind.

use crate::algorithms::counter::Counter;
use crate::algorithms::fixed::Fixed;
use crate::algorithms::gcra::Gcra;
use crate::algorithms::in_flight::InFlight;
use crate::algorithms::log::Log;
use crate::history::{Attempt, History, decide_one};
use crate::limit::{Limit, LimitKind};
use crate::settle::{Receipt, SettleEffect, settleable_cost};
use crate::time::MAX_TIME_MS;
use crate::verdict::Decision;

/// State of one key under one limit.
///
/// Has a tag of its own, which is faster to read than one hidden in the capacity of a log.
#[derive(Clone, Debug)]
#[repr(u8)]
#[expect(missing_docs, reason = "each variant is documented at its type")]
pub enum State {
    Log(Log),
    Counter(Counter),
    Fixed(Fixed),
    Gcra(Gcra),
    InFlight(InFlight),
}

impl State {
    /// State of a new key.
    #[inline(always)]
    pub fn new(limit: &Limit) -> Self {
        match limit.kind() {
            LimitKind::Log { .. } => Self::Log(Log::EMPTY),
            LimitKind::Counter => Self::Counter(Counter::default()),
            LimitKind::Fixed => Self::Fixed(Fixed::default()),
            LimitKind::Gcra { .. } => Self::Gcra(Gcra::default()),
            LimitKind::InFlight => Self::InFlight(InFlight::default()),
        }
    }

    /// Decides one limit by itself.
    #[inline(always)]
    pub fn decide(&mut self, limit: &Limit, attempt: Attempt) -> Decision {
        match self {
            Self::Log(log) => decide_one(log, limit, attempt),
            Self::Counter(counter) => decide_one(counter, limit, attempt),
            Self::Fixed(fixed) => decide_one(fixed, limit, attempt),
            Self::Gcra(gcra) => decide_one(gcra, limit, attempt),
            Self::InFlight(in_flight) => decide_one(in_flight, limit, attempt),
        }
    }

    /// Replaces the cost recorded under a receipt; 0 removes it.
    pub fn settle(&mut self, limit: &Limit, receipt: &Receipt, cost: u64, now_ms: u64) -> SettleEffect {
        let (now_ms, cost) = (now_ms.min(MAX_TIME_MS), settleable_cost(cost));
        match self {
            Self::Log(log) => log.settle(limit, receipt, cost, now_ms),
            Self::Counter(counter) => counter.settle(limit, receipt, cost, now_ms),
            Self::Fixed(fixed) => fixed.settle(limit, receipt, cost, now_ms),
            Self::Gcra(_) => SettleEffect::Unsupported,
            Self::InFlight(in_flight) => in_flight.settle(limit, receipt, cost, now_ms),
        }
    }

    /// The log, if it is one.
    pub fn into_log(self) -> Option<Log> {
        match self {
            Self::Log(log) => Some(log),
            _ => None,
        }
    }

    /// Whether it was last written under this limit's quota, for algorithms that store the quota.
    pub fn is_of(&self, limit: &Limit) -> bool {
        match self {
            Self::Gcra(gcra) => gcra.debt == 0 || gcra.quota == limit.quota(),
            _ => true,
        }
    }

    /// Whether recording another cost may change [`State::heap_bytes`].
    #[inline(always)]
    pub fn may_grow(&self, limit: &Limit) -> bool {
        match self {
            Self::Log(log) => log.may_grow(limit),
            Self::InFlight(_) => true,
            _ => false,
        }
    }

    /// Bytes on the heap.
    #[inline(always)]
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Log(log) => log.heap_bytes(),
            Self::InFlight(in_flight) => in_flight.heap_bytes(),
            _ => 0,
        }
    }
}

/// Peeks again when it records: the views of the algorithms differ, and peeking is cheap.
impl History for State {
    type View = ();

    #[inline(always)]
    fn peek(&mut self, limit: &Limit, now_ms: u64) -> (u64, ()) {
        let remaining = match self {
            Self::Log(log) => log.peek(limit, now_ms).0,
            Self::Counter(counter) => counter.peek(limit, now_ms).0,
            Self::Fixed(fixed) => fixed.peek(limit, now_ms).0,
            Self::Gcra(gcra) => gcra.peek(limit, now_ms).0,
            Self::InFlight(in_flight) => in_flight.peek(limit, now_ms).0,
        };
        (remaining, ())
    }

    #[inline(always)]
    fn reset_after_ms(&self, limit: &Limit, now_ms: u64, (): ()) -> u64 {
        match self {
            Self::Log(log) => log.reset_after_ms(limit, now_ms, log.at_ms(now_ms)),
            Self::Counter(counter) => counter.reset_after_ms(limit, now_ms, counter.view(limit, now_ms)),
            Self::Fixed(fixed) => fixed.reset_after_ms(limit, now_ms, fixed.view(limit, now_ms)),
            Self::Gcra(gcra) => gcra.reset_after_ms(limit, now_ms, gcra.view(limit, now_ms)),
            Self::InFlight(in_flight) => in_flight.reset_after_ms(limit, now_ms, ()),
        }
    }

    fn wait_ms(&self, limit: &Limit, attempt: Attempt, (): ()) -> u64 {
        let now_ms = attempt.now_ms;
        match self {
            Self::Log(log) => log.wait_ms(limit, attempt, log.at_ms(now_ms)),
            Self::Counter(counter) => counter.wait_ms(limit, attempt, counter.view(limit, now_ms)),
            Self::Fixed(fixed) => fixed.wait_ms(limit, attempt, fixed.view(limit, now_ms)),
            Self::Gcra(gcra) => gcra.wait_ms(limit, attempt, gcra.view(limit, now_ms)),
            Self::InFlight(in_flight) => in_flight.wait_ms(limit, attempt, ()),
        }
    }

    #[inline(always)]
    fn record(&mut self, limit: &Limit, attempt: Attempt, (): ()) -> (u64, u64) {
        match self {
            Self::Log(log) => {
                let at_ms = log.at_ms(attempt.now_ms);
                log.record(limit, attempt, at_ms)
            }
            Self::Counter(counter) => {
                let view = counter.view(limit, attempt.now_ms);
                counter.record(limit, attempt, view)
            }
            Self::Fixed(fixed) => {
                let view = fixed.view(limit, attempt.now_ms);
                fixed.record(limit, attempt, view)
            }
            Self::Gcra(gcra) => {
                let owed = gcra.view(limit, attempt.now_ms);
                gcra.record(limit, attempt, owed)
            }
            Self::InFlight(in_flight) => in_flight.record(limit, attempt, ()),
        }
    }

    fn lingers_ms(&self, now_ms: u64) -> u64 {
        match self {
            Self::Gcra(gcra) => gcra.lingers_ms(now_ms),
            _ => 0,
        }
    }

    fn give_back(&mut self, limit: &Limit, attempt: Attempt, (): ()) {
        let now_ms = attempt.now_ms;
        match self {
            Self::Log(log) => log.give_back(limit, attempt, log.at_ms(now_ms)),
            Self::Counter(counter) => counter.give_back(limit, attempt, counter.view(limit, now_ms)),
            Self::Fixed(fixed) => fixed.give_back(limit, attempt, fixed.view(limit, now_ms)),
            Self::Gcra(gcra) => gcra.give_back(limit, attempt, gcra.view(limit, now_ms)),
            Self::InFlight(in_flight) => in_flight.give_back(limit, attempt, ()),
        }
    }
}
