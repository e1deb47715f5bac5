//! The connections that are open: told to end when nothing moves on them, or when it is time.
//!
//! One timer for all of them instead of one for each request: a connection only notes how far it is, which costs nothing.

mod bounds;
mod counts;
#[cfg(test)]
pub(crate) mod flood;
mod pace;
mod places;
mod progress;
mod rest;
mod turns;

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;
use slab::Slab;
use slidegate::Clock;
use tokio::time::{Instant, sleep};

pub(crate) use bounds::Bounds;
pub use counts::ConnectionStats;
pub(crate) use counts::{Counts, Event};
pub(crate) use pace::Pace;
pub(crate) use places::{Place, Places};
pub(crate) use progress::{Order, Phase, Progress};
pub(crate) use rest::{Rest, Sends};
pub(crate) use turns::{Turns, cost};

use crate::app::App;

/// How long a connection on which nothing is asked is kept once the service ends: what its client has just sent is still read.
pub(crate) const GRACE: Duration = Duration::from_millis(250);
/// How often it is looked at who has not moved once the service ends.
const LAST_SWEEPS: Duration = Duration::from_millis(10);

/// All connections of a listener.
#[derive(Default)]
pub(crate) struct Connections(Mutex<Open>);

#[derive(Default)]
struct Open {
    entries: Slab<Entry>,
    /// Since when connections are to end after what they are doing.
    finishing: Option<Instant>,
}

struct Entry {
    progress: Arc<Progress>,
    waker: Waker,
    seen: u64,
    since: Instant,
}

impl Entry {
    fn tell(&self, order: Order) {
        self.progress.tell(order);
        self.waker.wake_by_ref();
    }

    /// Ends what has lasted too long.
    fn judge(&mut self, now: Instant, bounds: &Bounds, finishing: Option<Instant>) -> Option<Told> {
        let steps = self.progress.steps();
        if steps != self.seen {
            (self.seen, self.since) = (steps, now);
            return None;
        }
        let phase = self.progress.phase();
        let mut limit = bounds.of(phase)?;
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
        self.tell(if first && !mute { Order::Cut } else { Order::End });
        Some(if first { Told::First(phase) } else { Told::Again })
    }
}

/// A connection was told to end.
enum Told {
    /// For the first time, while it did this.
    First(Phase),
    Again,
}

impl Connections {
    /// Says that a connection is open. It leaves when what this returns is dropped.
    pub(crate) fn join(self: &Arc<Self>, progress: Arc<Progress>, waker: Waker) -> Membership {
        let seen = progress.steps();
        let entry = Entry { progress, waker, seen, since: Instant::now() };
        Membership { of: Arc::clone(self), key: self.0.lock().entries.insert(entry) }
    }

    /// Ends the connections that do not move, again and again.
    pub(crate) async fn keep_moving<C: Clock>(&self, app: &App<C>) {
        loop {
            let interval = match self.0.lock().finishing {
                None => app.http().connections.sweep_interval(),
                Some(_) => LAST_SWEEPS,
            };
            sleep(interval).await;
            let mut from = 0;
            while let Some(next) =
                self.sweep(from, Instant::now(), &app.http().connections, app.connections())
            {
                from = next;
                sleep(pace::PAUSE).await;
            }
        }
    }

    /// Looks at the connections from a place on; the place to go on from, if enough were told before all were looked at.
    fn sweep(&self, from: usize, now: Instant, bounds: &Bounds, counts: &Counts) -> Option<usize> {
        let Open { entries, finishing } = &mut *self.0.lock();
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
                Told::First(Phase::Fresh | Phase::Idle) if finishing.is_some() => {}
                Told::First(Phase::Idle) => counts.add(Event::EndedIdle),
                Told::First(Phase::Closing) | Told::Again => {}
                Told::First(_) => counts.add(Event::EndedSlow),
            }
        }
        None
    }

    /// From now on connections on which nothing is asked end soon.
    pub(crate) fn finish(&self) {
        self.0.lock().finishing = Some(Instant::now());
    }

    /// Tells every connection.
    pub(crate) fn tell_all(&self, order: Order) {
        self.0.lock().entries.iter().for_each(|(_, entry)| entry.tell(order));
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
#[path = "connections/sweep_tests.rs"]
mod sweep_tests;
