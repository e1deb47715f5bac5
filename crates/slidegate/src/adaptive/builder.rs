//! Builder of adaptive limiters.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::aimd::Aimd;
use super::gradient::{Gradient, GradientState};
use super::partition::{MAX_PARTITIONS, Partition};
use super::{AdaptiveAlgorithm, AdaptiveLimiter, ConcurrencyBounds};

/// Maximum of a limit.
pub const MAX_CONCURRENCY: u32 = 1_000_000;

/// Settings of an [`AdaptiveLimiter`]; `A` is its algorithm.
///
/// ```
/// use slidegate::adaptive::Adaptive;
///
/// let adaptive = Adaptive::gradient().initial(50).max(500);
/// let limiter = adaptive.partition("live", 0.9).partition("batch", 0.1).build()?;
/// assert_eq!((limiter.limit(), limiter.guaranteed("live")), (50, 45));
/// # Ok::<(), slidegate::adaptive::AdaptiveError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Adaptive<A> {
    algorithm: A,
    initial: u32,
    min: u32,
    max: u32,
    window: Duration,
    partitions: Vec<(String, f64)>,
}

/// Error of [`Adaptive::build`].
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdaptiveError {
    /// The limits are not in order.
    #[error(
        "expected 1 <= min <= initial <= max <= {MAX_CONCURRENCY}, found min {min}, initial {initial}, \
         max {max}"
    )]
    Bounds {
        /// Lowest limit.
        min: u32,
        /// Limit at the start.
        initial: u32,
        /// Highest limit.
        max: u32,
    },
    /// A setting is out of its range.
    #[error("{setting} must be {range}, not {value}")]
    Setting {
        /// Name of the setting.
        setting: &'static str,
        /// Range of its values.
        range: &'static str,
        /// Value that was given.
        value: f64,
    },
    /// There are more partitions than [`MAX_PARTITIONS`].
    #[error("a limiter has at most {MAX_PARTITIONS} partitions, not {0}")]
    TooManyPartitions(usize),
    /// Two partitions have one name.
    #[error("two partitions have the name `{0}`: rename one of them or add their shares")]
    SameName(String),
    /// The shares of all partitions exceed the whole.
    #[error("the shares of the partitions add up to {0}: lower them to 1 or less")]
    Shares(f64),
}

impl Adaptive<Gradient> {
    /// Limit that grows while latency is that of a service without a queue, and shrinks when a
    /// queue makes requests slower. It needs no objective; it suits services with hundreds of
    /// requests per second, because latencies of fewer vary too much.
    pub fn gradient() -> Self {
        Self::with(Gradient { tolerance: 1.07, smoothing: 0.2 })
    }

    /// Factor by which latency may exceed that without a queue before the limit shrinks; 1.07 by
    /// default. A higher one suits requests of very different kinds.
    pub fn tolerance(mut self, factor: f64) -> Self {
        self.algorithm.tolerance = factor;
        self
    }

    /// Weight of one window when the limit shrinks; 0.2 by default.
    pub fn smoothing(mut self, weight: f64) -> Self {
        self.algorithm.smoothing = weight;
        self
    }

    /// Limiter with these settings.
    pub fn build(self) -> Result<AdaptiveLimiter, AdaptiveError> {
        let Gradient { tolerance, smoothing } = self.algorithm;
        within("tolerance", "between 1.01 and 100", tolerance, 1.01..=100.0)?;
        within("smoothing", "between 0.01 and 1", smoothing, 0.01..=1.0)?;
        let state = GradientState::new(self.algorithm, self.bounds()?, self.initial);
        self.limiter(AdaptiveAlgorithm::Gradient(state))
    }
}

impl Adaptive<Aimd> {
    /// Limit that grows by one per window if it is used, and shrinks by a factor if the mean
    /// latency exceeds this threshold or a request met an overload. It suits services with a known
    /// latency objective, and clients.
    pub fn aimd(threshold: Duration) -> Self {
        Self::with(Aimd { threshold, backoff: 0.9 })
    }

    /// Factor by which the limit shrinks; 0.9 by default.
    pub fn backoff(mut self, factor: f64) -> Self {
        self.algorithm.backoff = factor;
        self
    }

    /// Limiter with these settings.
    pub fn build(self) -> Result<AdaptiveLimiter, AdaptiveError> {
        within("backoff", "between 0.1 and 0.99", self.algorithm.backoff, 0.1..=0.99)?;
        let bounds = self.bounds()?;
        let algorithm = AdaptiveAlgorithm::Aimd(self.algorithm, bounds);
        self.limiter(algorithm)
    }
}

impl<A> Adaptive<A> {
    fn with(algorithm: A) -> Self {
        let window = Duration::from_millis(500);
        Self { algorithm, initial: 20, min: 4, max: 1000, window, partitions: Vec::new() }
    }

    /// Limit at the start; 20 by default.
    pub fn initial(self, limit: u32) -> Self {
        Self { initial: limit, ..self }
    }

    /// Lowest limit; 4 by default.
    pub fn min(self, limit: u32) -> Self {
        Self { min: limit, ..self }
    }

    /// Highest limit; 1,000 by default.
    pub fn max(self, limit: u32) -> Self {
        Self { max: limit, ..self }
    }

    /// Shortest time between two changes of the limit; 500 ms by default. A window also lasts for
    /// two latencies, and until their mean is known to about 6 %: for 30 to 1,000 samples, the more
    /// the more latencies vary.
    pub fn window(self, window: Duration) -> Self {
        Self { window, ..self }
    }

    /// Partition with a guaranteed share of the limit, from 0 to 1; at most [`MAX_PARTITIONS`] with
    /// a sum of at most 1. Beyond its share it uses what others leave idle, as requests of no
    /// partition do.
    pub fn partition(mut self, name: impl Into<String>, share: f64) -> Self {
        self.partitions.push((name.into(), share));
        self
    }

    fn bounds(&self) -> Result<ConcurrencyBounds, AdaptiveError> {
        let Self { initial, min, max, .. } = *self;
        let ordered = 1 <= min && min <= initial && initial <= max && max <= MAX_CONCURRENCY;
        if ordered {
            Ok(ConcurrencyBounds { min, max })
        } else {
            Err(AdaptiveError::Bounds { min, initial, max })
        }
    }

    fn limiter(self, algorithm: AdaptiveAlgorithm) -> Result<AdaptiveLimiter, AdaptiveError> {
        let window_ms = self.window.as_secs_f64() * 1e3;
        within("window (ms)", "between 10 and 60000", window_ms, 10.0..=60_000.0)?;
        let count = self.partitions.len();
        if count > MAX_PARTITIONS {
            return Err(AdaptiveError::TooManyPartitions(count));
        }
        for (index, (name, share)) in self.partitions.iter().enumerate() {
            within("share of a partition", "between 0 and 1", *share, 0.0..=1.0)?;
            if self.partitions[..index].iter().any(|(other, _)| other == name) {
                return Err(AdaptiveError::SameName(name.clone()));
            }
        }
        let partitions: Box<[Partition]> =
            self.partitions.into_iter().map(|(name, share)| Partition::new(name, share)).collect();
        let parts: u64 = partitions.iter().map(|partition| u64::from(partition.share_ppm)).sum();
        if parts > 1_000_000 {
            return Err(AdaptiveError::Shares(parts as f64 / 1e6));
        }
        Ok(AdaptiveLimiter::new(algorithm, self.initial, self.window, partitions))
    }
}

fn within(
    setting: &'static str,
    range: &'static str,
    value: f64,
    values: RangeInclusive<f64>,
) -> Result<(), AdaptiveError> {
    if values.contains(&value) { Ok(()) } else { Err(AdaptiveError::Setting { setting, range, value }) }
}
