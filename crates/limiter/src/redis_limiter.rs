//! Limiters whose state other nodes share.

use slidegate_core::Limit;

use crate::builder::BuildError;
use crate::limiter::Limiter;
use slidegate_store::Fallback;
use slidegate_store_redis::{Redis, RedisConfig, RedisConfigError};

/// Why there is no limiter over Redis.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The servers are not named well.
    #[error(transparent)]
    RedisConfig(#[from] RedisConfigError),
    /// The limits make no limiter.
    #[error(transparent)]
    Limits(#[from] BuildError),
}

impl Limiter<Fallback<Redis>> {
    /// A limiter whose state is in Redis or Valkey: any number of nodes with the same limits decide as one.
    ///
    /// Nothing is connected before the first request. While Redis does not answer, this node decides by itself, as if it were
    /// the only one; see [`Fallback`] to say how many there are, and [`RedisConfig`] for Cluster, Sentinel, TLS and time-outs:
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use slidegate::{Fallback, Limit, Limiter, Redis};
    /// use slidegate::store::redis::RedisConfig;
    ///
    /// let limiter = Limiter::redis("redis://127.0.0.1:6379", [Limit::per_minute(5)])?;
    /// let verdict = limiter.check("alice").await?;
    ///
    /// // The same on a Cluster, by four nodes.
    /// let config = RedisConfig::cluster(["redis://10.0.0.1:6379", "redis://10.0.0.2:6379"])?;
    /// let store = Fallback::new(Redis::new(&config), 4);
    /// let limiter = Limiter::builder([Limit::per_minute(5)]).store(store).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn redis(url: &str, limits: impl IntoIterator<Item = Limit>) -> Result<Self, SetupError> {
        let store = Fallback::new(Redis::new(&RedisConfig::parse(url)?), 1);
        Ok(Limiter::builder(limits).store(store).build()?)
    }
}
