//! Progress of a connection, and its orders.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::task::Poll;

use super::turns::FREE_UNITS;

/// Phase of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Nothing has come yet.
    Fresh,
    /// A part of the head of a request was read.
    Head,
    /// The head of a request was read, and its body is being read.
    Body,
    /// A request is being answered. That may take as long as the request is willing to wait.
    Answering,
    /// A response waits for its client to read.
    Writing,
    /// Every request has its response.
    Idle,
    /// Nothing more is written; bytes that the client still sends are discarded.
    Closing,
    /// A response is streamed, and its client has read all of it so far.
    Streaming,
    /// A part of a TLS record was read. Its content, most likely a request, can only be read when
    /// it is complete.
    Record,
}

const PHASES: [Phase; 9] = {
    use Phase::{Answering, Body, Closing, Fresh, Head, Idle, Record, Streaming, Writing};
    [Fresh, Head, Body, Answering, Writing, Idle, Closing, Streaming, Record]
};
/// Bits of the phase.
const PHASE_BITS: u64 = 15;

/// Order to a connection. Each goes further than those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Order {
    Go,
    /// The client exceeded a time limit.
    Cut,
    /// The server shuts down: every request has to be answered now.
    Stop,
    /// The connection ends, whatever its phase.
    End,
}

/// Progress of a connection, and its order.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Number of steps, with the phase in the lowest bits.
    steps: AtomicU64,
    order: AtomicU8,
    /// Whether a response was sent before all of its request was read.
    unread: AtomicBool,
    /// Whether its response is a stream.
    streams: AtomicBool,
    /// Units of work that are left of its share.
    left_units: AtomicU32,
}

impl Progress {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            steps: AtomicU64::new(Phase::Fresh as u64),
            order: AtomicU8::new(Order::Go as u8),
            unread: AtomicBool::new(false),
            streams: AtomicBool::new(false),
            left_units: AtomicU32::new(FREE_UNITS),
        })
    }

    /// Enters a phase as a step: its time limit begins now. Only the connection itself calls this,
    /// so there is no race between load and store.
    #[inline]
    pub(crate) fn enter(&self, phase: Phase) {
        let steps = self.steps.load(Ordering::Relaxed);
        self.steps.store(((steps | PHASE_BITS) + 1) | phase as u64, Ordering::Relaxed);
    }

    /// Enters a phase without a step: the time limit continues.
    fn continue_as(&self, phase: Phase) {
        let steps = self.steps.load(Ordering::Relaxed);
        self.steps.store((steps & !PHASE_BITS) | phase as u64, Ordering::Relaxed);
    }

    /// Enters the phase of a head. Its time limit begins with the first byte, and that of the first
    /// head with the connection.
    #[inline]
    pub(crate) fn begin_head(&self) {
        self.begin(Phase::Head);
    }

    /// Enters the phase of a TLS record, whose time counts as that of a head.
    pub(crate) fn begin_record(&self) {
        if self.phase() != Phase::Record {
            self.begin(Phase::Record);
        }
    }

    /// Leaves the phase of a TLS record that contained no part of a request.
    pub(crate) fn end_record(&self) {
        if self.phase() == Phase::Record {
            // Before the first request there are no steps.
            self.continue_as(if self.steps() == 0 { Phase::Fresh } else { Phase::Idle });
        }
    }

    #[inline]
    fn begin(&self, phase: Phase) {
        match self.phase() {
            Phase::Idle => self.enter(phase),
            Phase::Fresh | Phase::Record => self.continue_as(phase),
            _ => {}
        }
    }

    /// Enters the phase after a response that the client has read: idle, or streaming.
    #[inline]
    pub(crate) fn rest(&self) {
        self.enter(if self.streams.load(Ordering::Relaxed) { Phase::Streaming } else { Phase::Idle });
    }

    /// Begins a stream, which has no time limit.
    pub(crate) fn begin_stream(&self) {
        self.streams.store(true, Ordering::Relaxed);
    }

    /// Ends a stream. The client has to read the rest of it as any other response.
    pub(crate) fn end_stream(&self) {
        self.streams.store(false, Ordering::Relaxed);
        if self.phase() == Phase::Streaming {
            self.enter(Phase::Idle);
        }
    }

    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        PHASES[(self.steps.load(Ordering::Relaxed) & PHASE_BITS) as usize]
    }

    /// Number of steps.
    #[inline]
    pub(super) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed) / (PHASE_BITS + 1)
    }

    #[inline]
    pub(crate) fn order(&self) -> Order {
        match self.order.load(Ordering::Relaxed) {
            0 => Order::Go,
            1 => Order::Cut,
            2 => Order::Stop,
            _ => Order::End,
        }
    }

    pub(super) fn set_order(&self, order: Order) {
        self.order.fetch_max(order as u8, Ordering::Relaxed);
    }

    /// Records that the client may still be sending bytes that are not read.
    pub(crate) fn leave_unread(&self) {
        self.unread.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    /// Counts work. Only the connection itself calls this.
    #[inline]
    pub(crate) fn spend(&self, units: u32) {
        self.left_units.store(self.left_units().saturating_sub(units), Ordering::Relaxed);
    }

    /// Units of work that are left of its share.
    #[inline]
    pub(crate) fn left_units(&self) -> u32 {
        self.left_units.load(Ordering::Relaxed)
    }

    /// Whether its share of work is spent: the connection has to suspend itself, and is woken when
    /// it gets another one.
    #[inline]
    pub(crate) fn is_spent(&self) -> bool {
        self.left_units() == 0
    }

    pub(super) fn grant(&self, units: u32) {
        self.left_units.store(units, Ordering::Relaxed);
    }

    /// Completes when there is something left of its share.
    #[inline]
    pub(crate) async fn share(&self) {
        poll_fn(|_| if self.is_spent() { Poll::Pending } else { Poll::Ready(()) }).await;
    }

    /// Output of a future, unless the connection gets `order`, or one that goes further, before.
    pub(crate) async fn until<T>(&self, order: Order, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        poll_fn(|context| {
            if self.order() >= order {
                return Poll::Ready(None);
            }
            future.as_mut().poll(context).map(Some)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_another_number() {
        let progress = Progress::new();
        let mut last_steps = vec![progress.steps()];
        assert_eq!(progress.phase(), Phase::Fresh);
        for phase in PHASES.into_iter().chain(PHASES) {
            progress.enter(phase);
            assert_eq!(progress.phase(), phase);
            assert!(!last_steps.contains(&progress.steps()));
            last_steps.push(progress.steps());
        }
    }

    /// Without a step the time limit continues.
    #[test]
    fn a_first_head_and_a_record_are_no_steps() {
        let progress = Progress::new();
        let is_at =
            |steps: u64, phase: Phase| assert_eq!((progress.steps(), progress.phase()), (steps, phase));
        progress.begin_record();
        is_at(0, Phase::Record);
        progress.end_record();
        is_at(0, Phase::Fresh);
        progress.begin_record();
        progress.begin_head();
        is_at(0, Phase::Head);
        progress.end_record();
        is_at(0, Phase::Head);
        progress.rest();
        is_at(1, Phase::Idle);
        progress.begin_record();
        progress.begin_record();
        is_at(2, Phase::Record);
        progress.begin_head();
        is_at(2, Phase::Head);
        progress.enter(Phase::Answering);
        progress.begin_record();
        is_at(3, Phase::Answering);
        progress.rest();
        progress.begin_record();
        progress.end_record();
        is_at(5, Phase::Idle);
        progress.begin_head();
        is_at(6, Phase::Head);
    }

    #[test]
    fn an_order_is_not_revoked() {
        let progress = Progress::new();
        for (next, order) in [
            (Order::Go, Order::Go),
            (Order::Stop, Order::Stop),
            (Order::Cut, Order::Stop),
            (Order::End, Order::End),
        ] {
            progress.set_order(next);
            assert_eq!(progress.order(), order);
        }
    }
}
