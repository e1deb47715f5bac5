//! Turns: bounded shares of work, so that connections that always have more to do leave the workers
//! to others.
//!
//! A task runs until it waits for something, and a connection whose client sends faster than it is
//! answered never does. So work is counted in units, roughly microseconds. A connection may spend a
//! few whenever it is woken; one that has more to do waits in line for a turn. There are as many
//! turns at a time as workers: all others wait for at most one of them, however many connections
//! are in line.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::thread::available_parallelism;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;

use super::{Order, Progress};

/// Units that a connection may spend without waiting, whenever it is woken.
pub(super) const FREE_UNITS: u32 = 64;
/// Units of a turn.
pub(super) const TURN_UNITS: u32 = 256;

/// Costs of work.
pub(crate) mod cost {
    /// A request over HTTP.
    pub(crate) const REQUEST: u32 = 16;
    /// A request to the admin API: some responses are long.
    pub(crate) const ADMIN_REQUEST: u32 = 32;
    /// A call over gRPC.
    pub(crate) const CALL: u32 = 4;
    /// Bytes per unit of a protocol whose requests are counted one by one.
    pub(crate) const BYTES: usize = 1_024;
    /// Bytes per unit of HTTP/2, whose frames are as small as this and not counted otherwise.
    pub(crate) const FRAME_BYTES: usize = 64;

    /// Cost of one read or write.
    pub(crate) fn bytes(bytes: usize, bytes_per_unit: usize) -> u32 {
        u32::try_from(bytes / bytes_per_unit).unwrap_or(u32::MAX).saturating_add(1)
    }
}

/// Turns of a process, shared by all of its listeners.
pub(crate) struct Turns {
    free: Arc<Semaphore>,
    waits: AtomicU64,
}

impl Turns {
    /// As many turns as workers.
    pub(crate) fn new() -> Self {
        let workers = available_parallelism().map_or(1, usize::from);
        Self { free: Arc::new(Semaphore::new(workers)), waits: AtomicU64::new(0) }
    }

    /// Connections that may have a turn at the same time.
    #[cfg(test)]
    pub(super) fn at_once(&self) -> usize {
        self.free.available_permits()
    }

    /// Number of waits for a turn.
    pub(crate) fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    /// The next turn, first come first served.
    fn next(&self) -> NextTurn {
        self.waits.fetch_add(1, Ordering::Relaxed);
        let free = Arc::clone(&self.free);
        Box::pin(async move {
            let turn = free.acquire_owned().await;
            // The runtime polls the sockets of others before it continues a task that yields.
            yield_now().await;
            turn.ok()
        })
    }

    /// Drives a connection, which suspends itself when its share is spent. A turn ends with the
    /// poll that used it, whatever the connection waits for then: none is blocked by a client that
    /// does not read.
    pub(crate) async fn share<T>(&self, progress: &Progress, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut share = WorkShare::default();
        poll_fn(|context| {
            ready!(share.poll_begin(progress, context));
            let polled = work.as_mut().poll(context);
            if polled.is_pending() {
                share.end(self, progress, context);
            }
            polled
        })
        .await
    }
}

type NextTurn = Pin<Box<dyn Future<Output = Option<OwnedSemaphorePermit>> + Send>>;

/// Share of work of a connection: the free units, or a turn.
#[derive(Default)]
struct WorkShare {
    /// Place in line for a turn.
    next: Option<NextTurn>,
    turn: Option<OwnedSemaphorePermit>,
}

impl WorkShare {
    /// Ready unless the connection has to wait for its turn. A connection with an order does not
    /// wait.
    fn poll_begin(&mut self, progress: &Progress, context: &mut Context<'_>) -> Poll<()> {
        if let Some(next) = &mut self.next {
            if progress.order() == Order::Go {
                self.turn = ready!(next.as_mut().poll(context));
            }
            self.next = None;
            progress.grant(TURN_UNITS);
        }
        Poll::Ready(())
    }

    fn end(&mut self, turns: &Turns, progress: &Progress, context: &mut Context<'_>) {
        // Released before the connection waits in line again.
        drop(self.turn.take());
        if !progress.is_spent() {
            return progress.grant(FREE_UNITS);
        }
        let mut next = turns.next();
        match next.as_mut().poll(context) {
            Poll::Pending => self.next = Some(next),
            Poll::Ready(_) => unreachable!("it yields"),
        }
    }
}
