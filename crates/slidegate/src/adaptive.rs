//! Adaptive concurrency: a bound on the requests that run at the same time, found by measuring
//! their latency.
//!
//! A service works on so many requests at once; further ones only queue and make all of them
//! slower. An [`AdaptiveLimiter`] finds that number while the service runs, and follows it. It
//! bounds this process only and keeps no state per client.
//!
//! ```
//! use slidegate::adaptive::{Adaptive, RequestCompletion};
//! use std::time::Instant;
//!
//! let limiter = Adaptive::gradient().partition("live", 0.9).partition("batch", 0.1).build()?;
//!
//! match limiter.try_acquire("live", Instant::now()) {
//!     Some(slot) => {
//!         // … the request is served …
//!         limiter.release(slot, Instant::now(), RequestCompletion::Success);
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
mod partition;
mod window;

use std::time::{Duration, Instant};

use parking_lot::Mutex;

pub use aimd::Aimd;
pub use builder::{Adaptive, AdaptiveError, MAX_CONCURRENCY};
pub use gradient::Gradient;
pub use partition::{AdaptiveUsage, MAX_PARTITIONS, PartitionUsage};

use gradient::GradientState;
use partition::{Partition, PartitionCounts};
use window::{Measurement, SampleWindow};

/// Limiter of the requests that run at the same time; [`Adaptive`] builds it.
///
/// One short lock guards it, and no request allocates.
#[derive(Debug)]
pub struct AdaptiveLimiter {
    partitions: Box<[Partition]>,
    state: Mutex<LimiterState>,
}

/// Slot of one request that runs. It counts until [`AdaptiveLimiter::release`], also if it is
/// dropped.
#[must_use = "a slot is taken until AdaptiveLimiter::release"]
#[derive(Debug)]
pub struct ConcurrencySlot {
    partition: usize,
    start: Instant,
    recorded: bool,
}

/// End of a request, as far as it tells about the load of the service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestCompletion {
    /// The service answered, and its latency counts.
    Success,
    /// The service timed out or refused: a sign of overload, whatever the latency.
    Overload,
    /// The end says nothing about the service, as when a client goes away.
    Ignored,
}

#[derive(Debug)]
struct LimiterState {
    algorithm: AdaptiveAlgorithm,
    limit: u32,
    in_flight: u32,
    /// Requests by partition; the last are those of no partition.
    counts: [PartitionCounts; MAX_PARTITIONS + 1],
    window: SampleWindow,
}

#[derive(Debug)]
enum AdaptiveAlgorithm {
    Gradient(GradientState),
    Aimd(Aimd, ConcurrencyBounds),
}

/// Lowest and highest limit.
#[derive(Clone, Copy, Debug)]
struct ConcurrencyBounds {
    min: u32,
    max: u32,
}

impl ConcurrencyBounds {
    fn clamp(self, limit: u32) -> u32 {
        limit.clamp(self.min, self.max)
    }

    /// Limit of an estimate.
    fn whole(self, estimate: f64) -> u32 {
        self.clamp(estimate as u32)
    }
}

impl AdaptiveLimiter {
    fn new(algorithm: AdaptiveAlgorithm, limit: u32, window: Duration, partitions: Box<[Partition]>) -> Self {
        let (window, counts) = (SampleWindow::new(window), Default::default());
        let state = LimiterState { algorithm, limit, in_flight: 0, counts, window };
        Self { partitions, state: Mutex::new(state) }
    }

    /// Slot for a request of this partition, or `None` if the limit is reached. A name that is no
    /// partition has no guaranteed share.
    pub fn try_acquire(&self, partition: &str, now: Instant) -> Option<ConcurrencySlot> {
        let partition = self.index(partition);
        let mut state = self.state.lock();
        if state.in_flight >= state.limit
            && state.counts[partition].in_flight >= self.guarantee(partition, state.limit)
        {
            state.counts[partition].refused += 1;
            state.window.add_refusal();
            return None;
        }
        state.in_flight += 1;
        state.counts[partition].in_flight += 1;
        state.counts[partition].admitted += 1;
        let in_flight = state.in_flight;
        state.window.add_start(now, in_flight);
        Some(ConcurrencySlot { partition, start: now, recorded: false })
    }

    /// Records the end of the measured part of a request, which goes on: a response whose body is
    /// still sent. Only the first record of a slot counts.
    pub fn record(&self, slot: &mut ConcurrencySlot, now: Instant, completion: RequestCompletion) {
        self.state.lock().record(slot, now, completion);
    }

    /// Releases a slot, and records its completion unless [`AdaptiveLimiter::record`] did.
    pub fn release(&self, mut slot: ConcurrencySlot, now: Instant, completion: RequestCompletion) {
        let mut state = self.state.lock();
        state.in_flight -= 1;
        state.counts[slot.partition].in_flight -= 1;
        state.record(&mut slot, now, completion);
    }

    /// Limit in force. During a probe of the gradient algorithm it is lower for a window.
    pub fn limit(&self) -> u32 {
        self.state.lock().limit
    }

    /// Requests in flight, of all partitions.
    pub fn in_flight(&self) -> u32 {
        self.state.lock().in_flight
    }

    /// Requests that were refused since the start, of all partitions.
    pub fn refused(&self) -> u64 {
        self.state.lock().counts.iter().map(|counts| counts.refused).sum()
    }

    /// Slots that are guaranteed to a partition under the limit in force: its share, rounded down,
    /// and at least one unless the share is 0.
    pub fn guaranteed(&self, partition: &str) -> u32 {
        self.guarantee(self.index(partition), self.limit())
    }

    /// Limit, requests in flight and counts of all partitions, from one moment.
    pub fn usage(&self) -> AdaptiveUsage {
        let state = self.state.lock();
        let LimiterState { limit, in_flight, counts, .. } = *state;
        drop(state);
        let partitions = self.partitions.iter().zip(counts);
        AdaptiveUsage {
            limit,
            in_flight,
            admitted: counts.iter().map(|counts| counts.admitted).sum(),
            refused: counts.iter().map(|counts| counts.refused).sum(),
            partitions: partitions.map(|(partition, counts)| partition.usage(counts, limit)).collect(),
        }
    }

    fn index(&self, name: &str) -> usize {
        self.partitions.iter().position(|partition| *partition.name == *name).unwrap_or(MAX_PARTITIONS)
    }

    fn guarantee(&self, partition: usize, limit: u32) -> u32 {
        self.partitions.get(partition).map_or(0, |partition| partition.guaranteed(limit))
    }
}

impl LimiterState {
    fn record(&mut self, slot: &mut ConcurrencySlot, now: Instant, completion: RequestCompletion) {
        if slot.recorded {
            return;
        }
        slot.recorded = true;
        let (limit, in_flight) = (self.limit, self.in_flight);
        match completion {
            RequestCompletion::Success => {
                self.window.add_success(now, in_flight, now.saturating_duration_since(slot.start));
            }
            RequestCompletion::Overload => self.window.add_overload(now, in_flight),
            RequestCompletion::Ignored => return,
        }
        if let Some(measured) = self.window.end(now, limit) {
            self.limit = self.algorithm.update(limit, &measured);
            self.window.restart(now, limit, self.limit, in_flight);
        }
    }
}

impl AdaptiveAlgorithm {
    fn update(&mut self, limit: u32, measured: &Measurement) -> u32 {
        match self {
            Self::Gradient(state) => state.update(measured),
            Self::Aimd(settings, bounds) => aimd::update(settings, *bounds, limit, measured),
        }
    }
}
