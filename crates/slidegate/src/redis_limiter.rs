//! Limiter over Redis or Valkey, shared by any number of nodes.

use slidegate_core::Limit;

use crate::async_limiter::AsyncLimiter;
use crate::builder::BuildError;
use crate::clock::SystemClock;
use crate::limiter::Limiter;
use slidegate_store::Fallback;
use slidegate_store_redis::{Redis, RedisConfig, RedisConfigError};

/// Rate limiter over Redis or Valkey: any number of nodes with the same limits decide as one.
pub type RedisLimiter<C = SystemClock> = AsyncLimiter<Fallback<Redis>, C>;

/// Error of [`RedisLimiter::new`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The URL is invalid.
    #[error(transparent)]
    Config(#[from] RedisConfigError),
    /// The limits are invalid.
    #[error(transparent)]
    Limits(#[from] BuildError),
}

impl RedisLimiter {
    /// Limiter whose state is in the Redis or Valkey server at this URL.
    ///
    /// It connects on the first request. While Redis does not answer, this node decides alone, as
    /// if it were the only one; see [`Fallback`] to set the number of nodes, and [`RedisConfig`]
    /// for Cluster, Sentinel, TLS and timeouts:
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use slidegate::{Fallback, Limit, Limiter, Redis, RedisLimiter};
    /// use slidegate::store::redis::RedisConfig;
    ///
    /// let limiter = RedisLimiter::new("redis://127.0.0.1:6379", [Limit::per_minute(5)])?;
    /// let verdict = limiter.check("alice").await?;
    ///
    /// // The same on a Cluster, from four nodes.
    /// let config = RedisConfig::cluster(["redis://10.0.0.1:6379", "redis://10.0.0.2:6379"])?;
    /// let store = Fallback::new(Redis::new(&config), 4);
    /// let limiter: RedisLimiter = Limiter::builder([Limit::per_minute(5)]).store(store).build_async()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(url: &str, limits: impl IntoIterator<Item = Limit>) -> Result<Self, SetupError> {
        let store = Fallback::new(Redis::new(&RedisConfig::parse(url)?), 1);
        Ok(Limiter::builder(limits).store(store).build_async()?)
    }
}
