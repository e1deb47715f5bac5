//! State of one key under one limit of any kind.

use crate::algorithms::counter::Counter;
use crate::algorithms::fixed::Fixed;
use crate::algorithms::gcra::Gcra;
use crate::algorithms::in_flight::InFlight;
use crate::algorithms::log::Log;
use crate::history::{Attempt, History, decide_one};
use crate::lease::{LeaseClose, LeaseLog, LeaseReply, LeaseRequest};
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
    LeaseLog(LeaseLog),
}

/// Runs an expression on the history of any kind.
macro_rules! each {
    ($state:expr, $history:ident => $result:expr) => {
        match $state {
            State::Log($history) => $result,
            State::Counter($history) => $result,
            State::Fixed($history) => $result,
            State::Gcra($history) => $result,
            State::InFlight($history) => $result,
            State::LeaseLog($history) => $result,
        }
    };
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
        each!(self, history => decide_one(history, limit, attempt))
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
            Self::LeaseLog(lease_log) => lease_log.settle(limit, receipt, cost, now_ms),
        }
    }

    /// Log, if it is one.
    pub fn into_log(self) -> Option<Log> {
        match self {
            Self::Log(log) => Some(log),
            _ => None,
        }
    }

    /// Records the request of a node for a lease. `None` unless this is a log.
    pub fn lease(&mut self, limit: &Limit, request: &LeaseRequest, now_ms: u64) -> Option<LeaseReply> {
        let reply = self.lease_log()?.lease(limit, request, now_ms);
        self.drop_idle_leases();
        Some(reply)
    }

    /// Ends a lease; returns whether it was newer than the row. `None` unless this is a log.
    pub fn close_lease(&mut self, limit: &Limit, close: &LeaseClose, now_ms: u64) -> Option<bool> {
        let is_new = self.lease_log()?.close(limit, close, now_ms);
        self.drop_idle_leases();
        Some(is_new)
    }

    /// Forgets what was used. A log on lease keeps its rows, and has a higher epoch.
    pub fn reset(&mut self, limit: &Limit) {
        match self {
            Self::LeaseLog(lease_log) => lease_log.reset(),
            _ => *self = Self::new(limit),
        }
        self.drop_idle_leases();
    }

    /// Log with leases, if this is a log.
    fn lease_log(&mut self) -> Option<&mut LeaseLog> {
        if let Self::Log(log) = self {
            *self = Self::LeaseLog(LeaseLog::from(core::mem::replace(log, Log::EMPTY)));
        }
        match self {
            Self::LeaseLog(lease_log) => Some(lease_log),
            _ => None,
        }
    }

    /// Makes a log without leases a plain one, which is smaller.
    pub fn drop_idle_leases(&mut self) {
        if let Self::LeaseLog(lease_log) = self
            && lease_log.rows().is_empty()
        {
            *self = Self::Log(lease_log.to_log());
        }
    }

    /// True if it was last written under this limit's quota, or does not store the quota.
    pub fn is_of(&self, limit: &Limit) -> bool {
        match self {
            Self::Gcra(gcra) => gcra.debt == 0 || gcra.quota == limit.quota(),
            _ => true,
        }
    }

    /// True if recording another cost may change [`State::heap_bytes`].
    #[inline(always)]
    pub fn may_grow(&self, limit: &Limit) -> bool {
        match self {
            Self::Log(log) => log.may_grow(limit),
            Self::InFlight(_) => true,
            Self::LeaseLog(lease_log) => lease_log.may_grow(limit),
            _ => false,
        }
    }

    /// Bytes on the heap.
    #[inline(always)]
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Log(log) => log.heap_bytes(),
            Self::InFlight(in_flight) => in_flight.heap_bytes(),
            Self::LeaseLog(lease_log) => lease_log.heap_bytes(),
            _ => 0,
        }
    }
}

/// Peeks again when it records: the views of the algorithms differ, and peeking is cheap.
impl History for State {
    type View = ();

    #[inline(always)]
    fn peek(&mut self, limit: &Limit, now_ms: u64) -> (u64, ()) {
        (each!(self, history => history.peek(limit, now_ms).0), ())
    }

    fn view(&self, _: &Limit, _: u64) {}

    #[inline(always)]
    fn reset_after_ms(&self, limit: &Limit, now_ms: u64, (): ()) -> u64 {
        each!(self, history => history.reset_after_ms(limit, now_ms, history.view(limit, now_ms)))
    }

    fn wait_ms(&self, limit: &Limit, attempt: Attempt, (): ()) -> u64 {
        each!(self, history => history.wait_ms(limit, attempt, history.view(limit, attempt.now_ms)))
    }

    #[inline(always)]
    fn record(&mut self, limit: &Limit, attempt: Attempt, (): ()) -> (u64, u64) {
        each!(self, history => history.record(limit, attempt, history.view(limit, attempt.now_ms)))
    }

    fn lingers_ms(&self, now_ms: u64) -> u64 {
        each!(self, history => history.lingers_ms(now_ms))
    }

    fn give_back(&mut self, limit: &Limit, attempt: Attempt, (): ()) {
        each!(self, history => history.give_back(limit, attempt, history.view(limit, attempt.now_ms)));
    }
}
