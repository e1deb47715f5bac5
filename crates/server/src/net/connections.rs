//! Open connections: ended when they stall, when they exceed a time limit, and at shutdown.
//!
//! One timer sweeps all of them; a connection only records its progress, which is cheap.

mod capacity;
mod counts;
mod lingering_close;
mod pace;
mod progress;
mod reclaim;
mod slots;
mod turns;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;
use slab::Slab;
use tokio::time::Instant;

pub(crate) use capacity::{Capacity, OpenFiles};
pub use counts::ConnectionStats;
pub(crate) use counts::{ConnectionCounts, Event};
pub(crate) use lingering_close::{LingeringClose, Sends};
pub(crate) use pace::{PAUSE, Pace};
pub(crate) use progress::{Order, Phase, Progress};
pub(crate) use slots::{ConnectionSlot, ConnectionSlots, Shortage};
pub(crate) use turns::{Turns, cost};

use crate::config::connection_limits::ConnectionLimits;
use reclaim::IdleQueue;

/// Time that an idle connection stays open during shutdown, to read what its client has just sent.
pub(crate) const GRACE: Duration = Duration::from_millis(250);
/// Interval of sweeps during shutdown.
const LAST_SWEEPS: Duration = Duration::from_millis(10);

/// Time that a client may keep sending after its last response.
const LINGER: Duration = Duration::from_secs(1);

/// Time limit of a phase. Responses and streams have none.
fn time_limit(limits: &ConnectionLimits, phase: Phase) -> Option<Duration> {
    match phase {
        Phase::Fresh | Phase::Record | Phase::Head => Some(limits.head),
        Phase::Body => Some(limits.body),
        Phase::Answering | Phase::Streaming => None,
        Phase::Writing => Some(limits.write),
        Phase::Closing => Some(limits.write.min(LINGER)),
        Phase::Idle => Some(limits.idle),
    }
}

/// All connections of a listener.
#[derive(Default)]
pub(crate) struct OpenConnections(Mutex<ConnectionTable>);

#[derive(Default)]
struct ConnectionTable {
    entries: Slab<ConnectionEntry>,
    /// Start of the shutdown: from then on idle connections end soon.
    finishing: Option<Instant>,
    /// Surplus connections, in the order of their arrival.
    surplus: BTreeMap<u64, usize>,
    last_arrival: u64,
    idle: IdleQueue,
}

struct ConnectionEntry {
    progress: Arc<Progress>,
    waker: Waker,
    last_steps: u64,
    since: Instant,
    /// Key of its slot.
    slot: usize,
    /// Number of its arrival among the surplus connections, if it is one.
    arrival: Option<u64>,
}

impl ConnectionEntry {
    fn order(&self, order: Order) {
        self.progress.set_order(order);
        self.waker.wake_by_ref();
    }

    /// Orders the connection to end if it has exceeded a time limit.
    fn time_out(
        &mut self,
        now: Instant,
        bounds: &ConnectionLimits,
        finishing: Option<Instant>,
    ) -> Option<Timeout> {
        let steps = self.progress.steps();
        if steps != self.last_steps {
            (self.last_steps, self.since) = (steps, now);
            return None;
        }
        let phase = self.progress.phase();
        let mut limit = time_limit(bounds, phase)?;
        let mut since = self.since;
        if let (Some(finishing), Phase::Fresh | Phase::Idle) = (finishing, phase) {
            (since, limit) = (since.max(finishing), limit.min(GRACE));
        }
        if now.duration_since(since) < limit {
            return None;
        }
        // A connection that has an order already, or no response left to write, ends at once.
        let first = self.progress.order() == Order::Go;
        let is_last_phase = matches!(phase, Phase::Writing | Phase::Closing);
        self.since = now;
        self.order(if first && !is_last_phase { Order::Cut } else { Order::End });
        Some(if first { Timeout::First(phase) } else { Timeout::Again })
    }
}

/// Time-out of a connection.
enum Timeout {
    /// The first one, in this phase.
    First(Phase),
    Again,
}

impl OpenConnections {
    /// Registers a connection, until the membership is dropped.
    pub(crate) fn join(
        self: &Arc<Self>,
        progress: Arc<Progress>,
        waker: Waker,
        slot: &ConnectionSlot,
    ) -> Membership {
        let last_steps = progress.steps();
        let table = &mut *self.0.lock();
        let arrival = slot.is_surplus().then(|| {
            table.last_arrival += 1;
            table.last_arrival
        });
        let (since, slot) = (Instant::now(), slot.key());
        let entry = ConnectionEntry { progress, waker, last_steps, since, slot, arrival };
        let key = table.entries.insert(entry);
        table.surplus.extend(arrival.map(|arrival| (arrival, key)));
        Membership { of: Arc::clone(self), key }
    }

    /// Ends the connection that has been idle for longest, and frees its slot. `false` if none has
    /// been idle for long, or too many are leaving already.
    pub(crate) fn reclaim_idle(&self, slots: &ConnectionSlots, capacity: Capacity) -> bool {
        let ConnectionTable { entries, idle, .. } = &mut *self.0.lock();
        let now = Instant::now();
        let Some(entry) = idle.next(entries, now).and_then(|key| entries.get_mut(key)) else { return false };
        if !slots.vacate(entry.slot, capacity) {
            return false;
        }
        entry.since = now;
        entry.order(Order::Cut);
        true
    }

    /// Ends the oldest surplus connection, and frees its slot. `false` if too many are leaving
    /// already.
    pub(crate) fn reclaim_surplus(&self, slots: &ConnectionSlots, capacity: Capacity) -> bool {
        let ConnectionTable { entries, surplus, .. } = &mut *self.0.lock();
        let Some(oldest) = surplus.first_entry() else { return false };
        let Some(entry) = entries.get(*oldest.get()).filter(|entry| slots.vacate(entry.slot, capacity))
        else {
            return false;
        };
        oldest.remove();
        entry.order(Order::End);
        true
    }

    /// Time until the next sweep.
    pub(crate) fn sweep_interval(&self, limits: &ConnectionLimits) -> Duration {
        match self.0.lock().finishing {
            None => limits.sweep_interval(),
            Some(_) => LAST_SWEEPS,
        }
    }

    /// Ends connections that have exceeded a time limit, from a key on. Returns the key to continue
    /// from if it has ended as many as may end at once.
    pub(crate) fn sweep(
        &self,
        from: usize,
        now: Instant,
        bounds: &ConnectionLimits,
        counts: &ConnectionCounts,
    ) -> Option<usize> {
        let ConnectionTable { entries, finishing, .. } = &mut *self.0.lock();
        let (mut ended, at_once) = (0, pace::at_once());
        for key in from..entries.capacity() {
            if ended == at_once {
                return Some(key);
            }
            let Some(timeout) =
                entries.get_mut(key).and_then(|entry| entry.time_out(now, bounds, *finishing))
            else {
                continue;
            };
            ended += 1;
            match timeout {
                Timeout::First(Phase::Fresh | Phase::Idle) if finishing.is_some() => {}
                Timeout::First(Phase::Idle) => counts.add(Event::EndedIdle),
                Timeout::First(Phase::Closing) | Timeout::Again => {}
                Timeout::First(_) => counts.add(Event::EndedSlow),
            }
        }
        None
    }

    /// Sweeps all connections once, now.
    #[cfg(test)]
    fn sweep_now(&self, bounds: &ConnectionLimits) {
        self.sweep(0, Instant::now(), bounds, &ConnectionCounts::default());
    }

    /// Begins the shutdown: idle connections end soon.
    pub(crate) fn finish(&self) {
        self.0.lock().finishing = Some(Instant::now());
    }

    /// Gives every connection an order.
    pub(crate) fn order_all(&self, order: Order) {
        self.0.lock().entries.iter().for_each(|(_, entry)| entry.order(order));
    }
}

/// Membership of a connection, until it is dropped.
pub(crate) struct Membership {
    of: Arc<OpenConnections>,
    key: usize,
}

impl Drop for Membership {
    fn drop(&mut self) {
        let table = &mut *self.of.0.lock();
        let entry = table.entries.remove(self.key);
        entry.arrival.and_then(|arrival| table.surplus.remove(&arrival));
    }
}

#[cfg(test)]
pub(crate) mod tests;
