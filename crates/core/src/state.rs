//! The history of one key under one limit, whatever its kind.

use crate::counter::Counter;
use crate::fixed::Fixed;
use crate::gcra::Gcra;
use crate::in_flight::InFlight;
use crate::limit::{Kind, Limit};
use crate::log::Log;
use crate::settle::{Receipt, Settled, settleable_cost};
use crate::time::MAX_TIME_MS;

/// What one limit remembers of one key.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each variant is documented at its type")]
pub enum State {
    Log(Log),
    Counter(Counter),
    Fixed(Fixed),
    Gcra(Gcra),
    InFlight(InFlight),
}

/// Where a key stands under a limit at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The largest cost that fits now.
    pub remaining: u64,
    /// When the key will be as if never seen, if nothing more comes.
    pub reset_after_ms: u64,
}

impl State {
    /// A key that was never seen.
    #[inline]
    pub fn new(limit: &Limit) -> Self {
        match limit.kind() {
            Kind::Log { .. } => Self::Log(Log::EMPTY),
            Kind::Counter => Self::Counter(Counter::default()),
            Kind::Fixed => Self::Fixed(Fixed::default()),
            Kind::Gcra { .. } => Self::Gcra(Gcra::default()),
            Kind::InFlight => Self::InFlight(InFlight::default()),
        }
    }

    /// Where the key stands. Forgets what has left the window and applies the rule for a clock that stepped back;
    /// beyond that nothing changes.
    #[inline]
    pub fn look(&mut self, limit: &Limit, now_ms: u64) -> Standing {
        let now_ms = now_ms.min(MAX_TIME_MS);
        match self {
            Self::Log(log) => log.look(limit, now_ms),
            Self::Counter(counter) => counter.look(limit, now_ms),
            Self::Fixed(fixed) => fixed.look(limit, now_ms),
            Self::Gcra(gcra) => gcra.look(limit, now_ms),
            Self::InFlight(in_flight) => in_flight.look(limit, now_ms),
        }
    }

    /// How long until a cost that did not fit at [`State::look`] does, if nothing else is admitted.
    pub(crate) fn wait_ms(&self, limit: &Limit, cost: u64, now_ms: u64) -> u64 {
        match self {
            Self::Log(log) => log.wait_ms(limit, cost, now_ms),
            Self::Counter(counter) => counter.wait_ms(limit, cost, now_ms),
            Self::Fixed(fixed) => fixed.wait_ms(limit, now_ms),
            Self::Gcra(gcra) => gcra.wait_ms(limit, cost, now_ms),
            Self::InFlight(in_flight) => in_flight.wait_ms(limit, cost, now_ms),
        }
    }

    /// Writes a cost that fitted at [`State::look`]; gives its stamp and the new `reset_after_ms`.
    #[inline]
    pub(crate) fn record(&mut self, limit: &Limit, cost: u64, now_ms: u64, holder: u64) -> (u64, u64) {
        match self {
            Self::Log(log) => {
                let stamp_ms = log.record(limit, cost, now_ms);
                (stamp_ms, log.reset_after_ms(limit, now_ms))
            }
            Self::Counter(counter) => counter.record(limit, cost, now_ms),
            Self::Fixed(fixed) => fixed.record(limit, cost, now_ms),
            Self::Gcra(gcra) => gcra.record(limit, cost, now_ms),
            Self::InFlight(in_flight) => {
                let stamp_ms = in_flight.record(limit, cost, now_ms, holder);
                (stamp_ms, in_flight.reset_after_ms(now_ms))
            }
        }
    }

    /// Replaces the cost that was recorded under a receipt; 0 takes it back.
    pub fn settle(&mut self, limit: &Limit, receipt: &Receipt, cost: u64, now_ms: u64) -> Settled {
        let (now_ms, cost) = (now_ms.min(MAX_TIME_MS), settleable_cost(cost));
        match self {
            Self::Log(log) => log.settle(limit, receipt, cost, now_ms),
            Self::Counter(counter) => counter.settle(limit, receipt, cost, now_ms),
            Self::Fixed(fixed) => fixed.settle(limit, receipt, cost, now_ms),
            Self::Gcra(_) => Settled::Unsupported,
            Self::InFlight(in_flight) => in_flight.settle(limit, receipt, cost, now_ms),
        }
    }

    /// Bytes on the heap.
    #[inline]
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Log(log) => log.heap_bytes(),
            Self::InFlight(in_flight) => in_flight.heap_bytes(),
            _ => 0,
        }
    }
}
