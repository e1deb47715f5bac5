//! Adaptive concurrency: a bound on the requests that run at the same time, found by measuring
//! their latency.
//!
//! A service works on so many requests at once; further ones only queue and make all of them
//! slower. An [`AdaptiveLimiter`] finds that number while the service runs, and follows it. It
//! bounds this process only and keeps no state per client.
//!
//! ```
//! use slidegate::adaptive::{Adaptive, Completion};
//! use std::time::Instant;
//!
//! let limiter = Adaptive::gradient().partition("live", 0.9).partition("batch", 0.1).build()?;
//!
//! match limiter.try_acquire("live", Instant::now()) {
//!     Some(slot) => {
//!         // … the request is served …
//!         limiter.release(slot, Instant::now(), Completion::Success);
//!     }
//!     None => println!("busy, try again"),
//! }
//! # Ok::<(), slidegate::adaptive::AdaptiveError>(())
//! ```
//!
//! # Partitions
//!
//! A partition has a guaranteed share of the limit: a request within it is always admitted. Beyond
//! it, a partition may use what others leave idle. Slots in use are not taken back, so a partition
//! that returns to its share while others use it exceeds the limit until they end: at most twice
//! the limit is in flight, plus one slot per partition, unless the limit shrank meanwhile. Requests
//! of no partition have no share.

mod aimd;
mod builder;
mod gradient;
mod window;

use std::time::{Duration, Instant};

use parking_lot::Mutex;

pub use aimd::Aimd;
pub use builder::{Adaptive, AdaptiveError, MAX_CONCURRENCY, MAX_PARTITIONS};
pub use gradient::Gradient;

use gradient::GradientState;
use window::{Measurement, Window};

/// Limiter of the requests that run at the same time; [`Adaptive`] builds it.
///
/// One short lock guards it, and no request allocates.
#[derive(Debug)]
pub struct AdaptiveLimiter {
    partitions: Box<[Partition]>,
    state: Mutex<State>,
}

/// Slot of one request that runs. It counts until [`AdaptiveLimiter::release`], also if it is
/// dropped.
#[must_use = "a slot is taken until AdaptiveLimiter::release"]
#[derive(Debug)]
pub struct Slot {
    partition: usize,
    start: Instant,
    recorded: bool,
}

/// End of a request, as far as it tells about the load of the service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completion {
    /// The service answered, and its latency counts.
    Success,
    /// The service timed out or refused: a sign of overload, whatever the latency.
    Overload,
    /// The end says nothing about the service, as when a client goes away.
    Ignored,
}

#[derive(Debug)]
struct State {
    algorithm: Algorithm,
    limit: u32,
    in_flight: u32,
    /// Requests in flight by partition; the last are those of no partition.
    partitions: [u32; MAX_PARTITIONS + 1],
    window: Window,
}

#[derive(Debug)]
enum Algorithm {
    Gradient(GradientState),
    Aimd(Aimd, Bounds),
}

/// Lowest and highest limit.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    min: u32,
    max: u32,
}

impl Bounds {
    fn clamp(self, limit: u32) -> u32 {
        limit.clamp(self.min, self.max)
    }
}

#[derive(Debug)]
struct Partition {
    name: Box<str>,
    /// Share in millionths, so that shares add up exactly.
    share_ppm: u32,
}

impl Partition {
    fn new(name: String, share: f64) -> Self {
        Self { name: name.into(), share_ppm: (share * 1e6).round() as u32 }
    }

    /// Slots of its share of a limit.
    fn guaranteed(&self, limit: u32) -> u32 {
        let slots = u64::from(limit) * u64::from(self.share_ppm) / 1_000_000;
        (slots as u32).max(u32::from(self.share_ppm > 0))
    }
}

impl AdaptiveLimiter {
    fn new(algorithm: Algorithm, limit: u32, window: Duration, partitions: Box<[Partition]>) -> Self {
        let window = Window::new(window);
        let state = State { algorithm, limit, in_flight: 0, partitions: [0; MAX_PARTITIONS + 1], window };
        Self { partitions, state: Mutex::new(state) }
    }

    /// Slot for a request of this partition, or `None` if the limit is reached. A name that is no
    /// partition has no guaranteed share.
    pub fn try_acquire(&self, partition: &str, now: Instant) -> Option<Slot> {
        let partition = self.index(partition);
        let mut state = self.state.lock();
        if state.in_flight >= state.limit
            && state.partitions[partition] >= self.guarantee(partition, state.limit)
        {
            return None;
        }
        state.in_flight += 1;
        state.partitions[partition] += 1;
        let in_flight = state.in_flight;
        state.window.add_start(now, in_flight);
        Some(Slot { partition, start: now, recorded: false })
    }

    /// Records the end of the measured part of a request, which goes on: a response whose body is
    /// still sent. Only the first record of a slot counts.
    pub fn record(&self, slot: &mut Slot, now: Instant, completion: Completion) {
        self.state.lock().record(slot, now, completion);
    }

    /// Releases a slot, and records its completion unless [`AdaptiveLimiter::record`] did.
    pub fn release(&self, mut slot: Slot, now: Instant, completion: Completion) {
        let mut state = self.state.lock();
        state.in_flight -= 1;
        state.partitions[slot.partition] -= 1;
        state.record(&mut slot, now, completion);
    }

    /// Limit in force. During a probe of the gradient algorithm it is lower for two windows.
    pub fn limit(&self) -> u32 {
        self.state.lock().limit
    }

    /// Requests in flight, of all partitions.
    pub fn in_flight(&self) -> u32 {
        self.state.lock().in_flight
    }

    /// Slots that are guaranteed to a partition under the limit in force: its share, rounded down,
    /// and at least one unless the share is 0.
    pub fn guaranteed(&self, partition: &str) -> u32 {
        self.guarantee(self.index(partition), self.limit())
    }

    fn index(&self, name: &str) -> usize {
        self.partitions.iter().position(|partition| *partition.name == *name).unwrap_or(MAX_PARTITIONS)
    }

    fn guarantee(&self, partition: usize, limit: u32) -> u32 {
        self.partitions.get(partition).map_or(0, |partition| partition.guaranteed(limit))
    }
}

impl State {
    fn record(&mut self, slot: &mut Slot, now: Instant, completion: Completion) {
        if slot.recorded {
            return;
        }
        slot.recorded = true;
        match completion {
            Completion::Success => self.window.add_success(now.saturating_duration_since(slot.start)),
            Completion::Overload => self.window.add_overload(),
            Completion::Ignored => return,
        }
        if let Some(measured) = self.window.end(now, self.limit, self.in_flight) {
            self.limit = self.algorithm.update(self.limit, &measured);
        }
    }
}

impl Algorithm {
    fn update(&mut self, limit: u32, measured: &Measurement) -> u32 {
        match self {
            Self::Gradient(state) => state.update(measured),
            Self::Aimd(settings, bounds) => aimd::update(settings, *bounds, limit, measured),
        }
    }
}
