//! The connections that are open: told to end, and ended when nothing moves on them.
//!
//! One timer for all of them instead of one for each request: a connection only notes how far it is, which costs nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;
use slab::Slab;

/// How often it is looked at who has not moved.
pub(crate) const SWEEP: Duration = Duration::from_secs(15);
/// Sweeps for which a connection may wait for its next request: 75 to 90 seconds.
const IDLE_SWEEPS: u8 = 5;
/// Sweeps for which a request may be on its way: 15 to 30 seconds.
const READING_SWEEPS: u8 = 1;

/// What a connection is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Phase {
    /// It waits for a request.
    Idle,
    /// A part of a request's head has come.
    Head,
    /// A request's head has come, and its body is read.
    Body,
    /// A request is being answered. That may take as long as the request asked to wait.
    Answering,
}

const PHASES: [Phase; 4] = [Phase::Idle, Phase::Head, Phase::Body, Phase::Answering];

/// What a connection is told to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Order {
    Go,
    /// End after the request that is being answered.
    Finish,
    End,
}

/// How far a connection is, and what it was told.
#[derive(Debug)]
pub(crate) struct Progress {
    /// How many phases there were, and in the lowest two bits which it is.
    steps: AtomicU64,
    order: AtomicU8,
}

impl Progress {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { steps: AtomicU64::new(0), order: AtomicU8::new(Order::Go as u8) })
    }

    /// Only the connection itself calls this, so nothing comes between reading and writing.
    #[inline]
    pub(crate) fn enter(&self, phase: Phase) {
        let steps = self.steps.load(Ordering::Relaxed);
        self.steps.store(((steps | 3) + 1) | phase as u64, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        PHASES[self.steps.load(Ordering::Relaxed) as usize & 3]
    }

    #[inline]
    pub(crate) fn order(&self) -> Order {
        match self.order.load(Ordering::Relaxed) {
            0 => Order::Go,
            1 => Order::Finish,
            _ => Order::End,
        }
    }

    fn tell(&self, order: Order) {
        self.order.fetch_max(order as u8, Ordering::Relaxed);
    }
}

/// All connections of a listener.
#[derive(Default)]
pub(crate) struct Connections(Mutex<Open>);

#[derive(Default)]
struct Open {
    entries: Slab<Entry>,
    finishing: bool,
}

struct Entry {
    progress: Arc<Progress>,
    waker: Waker,
    seen: u64,
    unmoved: u8,
}

impl Entry {
    fn tell(&self, order: Order) {
        self.progress.tell(order);
        self.waker.wake_by_ref();
    }

    fn has_stopped(&mut self) -> bool {
        let steps = self.progress.steps.load(Ordering::Relaxed);
        self.unmoved = if steps == self.seen { self.unmoved.saturating_add(1) } else { 0 };
        self.seen = steps;
        match self.progress.phase() {
            Phase::Idle => self.unmoved >= IDLE_SWEEPS,
            Phase::Head | Phase::Body => self.unmoved >= READING_SWEEPS,
            Phase::Answering => false,
        }
    }
}

impl Connections {
    /// Says that a connection is open. It leaves when what this returns is dropped.
    pub(crate) fn join(self: &Arc<Self>, progress: Arc<Progress>, waker: Waker) -> Membership {
        let mut open = self.0.lock();
        if open.finishing {
            progress.tell(Order::Finish);
        }
        let seen = progress.steps.load(Ordering::Relaxed);
        let key = open.entries.insert(Entry { progress, waker, seen, unmoved: 0 });
        Membership { of: Arc::clone(self), key }
    }

    /// Ends the connections that do not move.
    pub(crate) fn sweep(&self) {
        for (_, entry) in &mut self.0.lock().entries {
            if entry.has_stopped() {
                entry.tell(Order::End);
            }
        }
    }

    /// Lets every connection, and those that still join, end after what it is doing.
    pub(crate) fn finish(&self) {
        let mut open = self.0.lock();
        open.finishing = true;
        open.entries.iter().for_each(|(_, entry)| entry.tell(Order::Finish));
    }

    /// Ends every connection, whatever it is doing.
    pub(crate) fn end(&self) {
        self.0.lock().entries.iter().for_each(|(_, entry)| entry.tell(Order::End));
    }
}

/// A place among the connections.
pub(crate) struct Membership {
    of: Arc<Connections>,
    key: usize,
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.of.0.lock().entries.remove(self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_move_is_ended() {
        let rows = [
            (Phase::Idle, Some(5)),
            (Phase::Head, Some(1)),
            (Phase::Body, Some(1)),
            (Phase::Answering, None),
        ];
        for (phase, sweeps) in rows {
            let connections = Arc::new(Connections::default());
            let progress = Progress::new();
            progress.enter(phase);
            assert_eq!(progress.phase(), phase);
            let _member = connections.join(Arc::clone(&progress), Waker::noop().clone());
            let ended = (1..=20).find(|_| {
                connections.sweep();
                progress.order() == Order::End
            });
            assert_eq!(ended, sweeps, "{phase:?}");
        }
    }

    #[test]
    fn who_moves_is_not() {
        let connections = Arc::new(Connections::default());
        let progress = Progress::new();
        let _member = connections.join(Arc::clone(&progress), Waker::noop().clone());
        for _ in 0..50 {
            progress.enter(Phase::Head);
            connections.sweep();
        }
        assert_eq!(progress.order(), Order::Go);
    }

    #[test]
    fn who_joins_late_is_told_too() {
        let connections = Arc::new(Connections::default());
        connections.finish();
        let progress = Progress::new();
        drop(connections.join(Arc::clone(&progress), Waker::noop().clone()));
        assert_eq!(progress.order(), Order::Finish);
        assert!(connections.0.lock().entries.is_empty());
    }
}
