//! Streams of requests that come whatever the answers are.

use std::fmt;

use slidegate::{Limit, LimitError, Limiter, ManualClock};

use super::START_MS;
use super::random::SeededRandom;

/// Part of a window in which a burst comes, before or after an edge.
const BURST_PART: u64 = 20;
/// Windows of an overload.
const OVERLOAD_WINDOWS: u64 = 10;
/// Requests of an overload for each that is allowed.
const OVERLOAD_FACTOR: u64 = 3;
/// Windows that are shown of the other streams.
const DEFAULT_WINDOWS: u64 = 3;
/// Largest quota: every request of a stream is simulated.
const MAX_QUOTA: u64 = 100_000;

/// Stream to simulate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scenario {
    /// A quota of requests right before the edge of a fixed window, and another right after it.
    EdgeBurst,
    /// Three times as many requests as are allowed, at random times.
    Overload,
    /// A burst at the end of a window, then each request as early as the counter admits it.
    Adversary,
}

/// Requests of one subject, by their times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestStream {
    /// Times from the start, in order.
    pub(super) times_ms: Vec<u64>,
    /// Time that is shown.
    pub(super) duration_ms: u64,
    pub(super) quota: u64,
    pub(super) window_ms: u64,
}

/// Error of [`RequestStream::new`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The quota is too large to simulate.
    #[error("quota too large to simulate: {0}, the maximum is {MAX_QUOTA}")]
    QuotaTooLarge(u64),
    /// The limit has no form under the algorithm.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// No limiter can be built.
    #[error(transparent)]
    Build(#[from] slidegate::BuildError),
}

impl Scenario {
    /// All scenarios.
    pub const ALL: [Self; 3] = [Self::EdgeBurst, Self::Overload, Self::Adversary];
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EdgeBurst => "edge burst",
            Self::Overload => "overload",
            Self::Adversary => "adversary",
        })
    }
}

impl RequestStream {
    /// Stream for a quota and a window.
    pub fn new(scenario: Scenario, limit: Limit, seed: u64) -> Result<Self, StreamError> {
        let (quota, window_ms) = (limit.quota(), limit.window_ms());
        if quota > MAX_QUOTA {
            return Err(StreamError::QuotaTooLarge(quota));
        }
        let times_ms = match scenario {
            Scenario::EdgeBurst => edge_burst(quota, window_ms),
            Scenario::Overload => overload(quota, window_ms, seed),
            Scenario::Adversary => adversary(limit)?,
        };
        let windows = if scenario == Scenario::Overload { OVERLOAD_WINDOWS } else { DEFAULT_WINDOWS };
        Ok(Self { times_ms, duration_ms: windows * window_ms, quota, window_ms })
    }

    /// Number of requests.
    pub fn requests(&self) -> usize {
        self.times_ms.len()
    }

    /// Length of the simulation in milliseconds.
    pub fn duration_ms(&self) -> u64 {
        self.duration_ms
    }
}

fn edge_burst(quota: u64, window_ms: u64) -> Vec<u64> {
    let burst_ms = window_ms.div_ceil(BURST_PART);
    let burst = |start_ms: u64| (0..quota).map(move |n| start_ms + n * burst_ms / quota);
    burst(window_ms - burst_ms).chain(burst(window_ms)).collect()
}

fn overload(quota: u64, window_ms: u64, seed: u64) -> Vec<u64> {
    let mut random = SeededRandom::new(seed);
    let requests = quota * OVERLOAD_FACTOR * OVERLOAD_WINDOWS;
    let mut times_ms: Vec<u64> = (0..requests).map(|_| random.below(window_ms * OVERLOAD_WINDOWS)).collect();
    times_ms.sort_unstable();
    times_ms
}

/// The counter says when it admits the next request, and so the adversary asks right then.
fn adversary(limit: Limit) -> Result<Vec<u64>, StreamError> {
    let clock = ManualClock::new(START_MS);
    let limiter = Limiter::builder([limit.counter()?]).clock(clock.clone()).build()?;
    let window_ms = limit.window_ms();
    // The window that begins with the burst ends before that leaves it.
    let (burst_ms, end_ms) = (window_ms - 1, 2 * window_ms - 1);
    let (mut times_ms, mut now_ms) = (Vec::new(), burst_ms);
    while now_ms < end_ms {
        clock.set_ms(START_MS + now_ms);
        match limiter.check("subject").retry_after_ms() {
            None => times_ms.push(now_ms),
            // A wait is never 0: the cost fits after it and not before.
            Some(wait_ms) => now_ms += wait_ms.max(1),
        }
    }
    Ok(times_ms)
}
