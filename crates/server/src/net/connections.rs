//! Open connections: ended when they stall, when they exceed a time limit, and at shutdown.
//!
//! One timer sweeps all of them; a connection only records its progress, which costs nothing.

mod admission;
mod capacity;
mod counts;
#[cfg(test)]
pub(crate) mod flood;
mod lingering_close;
mod pace;
mod progress;
mod reclaim;
mod turns;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;
use slab::Slab;
use tokio::time::Instant;

pub(crate) use admission::{ConnectionSlot, ConnectionSlots, Shortage};
pub(crate) use capacity::{Capacity, OpenFiles};
pub use counts::ConnectionStats;
pub(crate) use counts::{ConnectionCounts, Event};
pub(crate) use lingering_close::{LingeringClose, Sends};
pub(crate) use pace::{PAUSE, Pace};
pub(crate) use progress::{Order, Phase, Progress};
pub(crate) use turns::{Turns, cost};

use crate::config::connection_limits::ConnectionLimits;
use reclaim::IdleQueue;

/// Time that an idle connection stays open during shutdown, to read what its client has just sent.
pub(crate) const GRACE: Duration = Duration::from_millis(250);
/// Interval of sweeps during shutdown.
const LAST_SWEEPS: Duration = Duration::from_millis(10);

/// Time that a client may keep sending after its last response.
const LINGER: Duration = Duration::from_secs(1);

/// Time limit of a phase. Responses take the time that they need, and streams end when they like.
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
pub(crate) struct Connections(Mutex<Open>);

#[derive(Default)]
struct Open {
    entries: Slab<ConnectionEntry>,
    /// Since when connections are to end after what they are doing.
    finishing: Option<Instant>,
    /// Connections in the lane, in the order in which they came.
    lane: BTreeMap<u64, usize>,
    lane_turns: u64,
    idle: IdleQueue,
}

struct ConnectionEntry {
    progress: Arc<Progress>,
    waker: Waker,
    last_steps: u64,
    since: Instant,
    /// Key of its place.
    place: usize,
    /// Turn in the lane, of a connection that is one too many.
    lane_turn: Option<u64>,
}

impl ConnectionEntry {
    fn order(&self, order: Order) {
        self.progress.set_order(order);
        self.waker.wake_by_ref();
    }

    /// Ends what has lasted too long.
    fn judge(
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
        // Whoever was told already, or has nothing left to say, is not waited for.
        let first = self.progress.order() == Order::Go;
        let mute = matches!(phase, Phase::Writing | Phase::Closing);
        self.since = now;
        self.order(if first && !mute { Order::Cut } else { Order::End });
        Some(if first { Timeout::First(phase) } else { Timeout::Again })
    }
}

/// Time-out of a connection.
enum Timeout {
    /// For the first time, while it did this.
    First(Phase),
    Again,
}

impl Connections {
    /// Registers a connection, until the membership is dropped.
    pub(crate) fn join(
        self: &Arc<Self>,
        progress: Arc<Progress>,
        waker: Waker,
        place: &ConnectionSlot,
    ) -> Membership {
        let last_steps = progress.steps();
        let open = &mut *self.0.lock();
        let lane_turn = place.is_in_lane().then(|| {
            open.lane_turns += 1;
            open.lane_turns
        });
        let entry = ConnectionEntry {
            progress,
            waker,
            last_steps,
            since: Instant::now(),
            place: place.key(),
            lane_turn,
        };
        let key = open.entries.insert(entry);
        open.lane.extend(lane_turn.map(|turn| (turn, key)));
        Membership { of: Arc::clone(self), key }
    }

    /// Ends the connection that has been idle for longest, and gives its seat away. `false` if nobody has been idle for long, or
    /// too many are leaving already.
    pub(crate) fn reclaim_idle(&self, places: &ConnectionSlots, capacity: Capacity) -> bool {
        let Open { entries, idle, .. } = &mut *self.0.lock();
        let now = Instant::now();
        let Some(entry) = idle.next(entries, now).and_then(|key| entries.get_mut(key)) else { return false };
        if !places.vacate(entry.place, capacity) {
            return false;
        }
        entry.since = now;
        entry.order(Order::Cut);
        true
    }

    /// Ends the connection that has been in the lane for longest, and gives its place there away. `false` if too many are leaving
    /// already.
    pub(crate) fn reclaim_lane(&self, places: &ConnectionSlots, capacity: Capacity) -> bool {
        let Open { entries, lane, .. } = &mut *self.0.lock();
        let Some(oldest) = lane.first_entry() else { return false };
        let Some(entry) = entries.get(*oldest.get()).filter(|entry| places.vacate(entry.place, capacity))
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

    /// Looks at the connections from a place on; the place to go on from, if enough were told before all were looked at.
    pub(crate) fn sweep(
        &self,
        from: usize,
        now: Instant,
        bounds: &ConnectionLimits,
        counts: &ConnectionCounts,
    ) -> Option<usize> {
        let Open { entries, finishing, .. } = &mut *self.0.lock();
        let (mut told, at_once) = (0, pace::at_once());
        for place in from..entries.capacity() {
            if told == at_once {
                return Some(place);
            }
            let Some(judged) = entries.get_mut(place).and_then(|entry| entry.judge(now, bounds, *finishing))
            else {
                continue;
            };
            told += 1;
            match judged {
                Timeout::First(Phase::Fresh | Phase::Idle) if finishing.is_some() => {}
                Timeout::First(Phase::Idle) => counts.add(Event::EndedIdle),
                Timeout::First(Phase::Closing) | Timeout::Again => {}
                Timeout::First(_) => counts.add(Event::EndedSlow),
            }
        }
        None
    }

    /// Looks at all of them once, at the time that it is.
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
    of: Arc<Connections>,
    key: usize,
}

impl Drop for Membership {
    fn drop(&mut self) {
        let open = &mut *self.of.0.lock();
        let entry = open.entries.remove(self.key);
        entry.lane_turn.and_then(|turn| open.lane.remove(&turn));
    }
}

#[cfg(test)]
mod tests;
