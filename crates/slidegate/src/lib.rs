//! A rate limiter with exact limits and true retry times.
//!
//! A [`Limiter`] checks keys against one or more [`Limit`]s. With the default algorithm, a
//! sliding-window log, no rolling window ever contains more than the quota. `remaining` is the
//! largest cost that would be admitted now, and a client that waits for `retry_after` gets in, if
//! nothing else was admitted on its key meanwhile.
//!
//! ```
//! use slidegate::{Limit, Limiter};
//!
//! // 10 per second and 600 per minute, for every key by itself.
//! let limiter = Limiter::new([Limit::per_second(10), "600/min".parse()?])?;
//!
//! let verdict = limiter.check("alice");
//! assert!(verdict.is_allowed());
//! assert_eq!(verdict.remaining(), Some(9));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to start
//!
//! | to | use |
//! |---|---|
//! | limit an axum, tonic or hyper service | [`tower::RateLimitLayer`] |
//! | limit calls in one process | [`Limiter::new`], then [`Limiter::check`] |
//! | charge more than one unit, or only look | [`Limiter::check_n`], [`Limiter::peek`] |
//! | settle a cost that is known afterwards | [`Limiter::reserve`], which returns a [`Permit`] |
//! | bound the requests that run at the same time | [`Limit::in_flight`] |
//! | find that bound from measured latency | [`adaptive`], in services [`tower::AdaptiveLayer`] |
//! | wait instead of being denied | [`Limiter::until_ready`] |
//! | share limits between processes | [`RedisLimiter::new`], and [`Fallback`] for outages |
//! | read rules from a file | [`Policy::parse`] and a [`Gate`] over any [`Store`] |
//! | render an answer as HTTP headers | [`headers`] |
//! | count decisions, and find who is limited most | [`telemetry`] |
//! | test code that uses limits | [`ManualClock`] in [`Builder::clock`] |
//! | implement another store | [`Store`] |
//!
//! [`Limiter`] is synchronous and works in memory. [`AsyncLimiter`] has the same operations as
//! `async` functions and works over any [`Store`]; [`RedisLimiter`] is the one over Redis.
//!
//! # Features
//!
//! | feature | adds | default |
//! |---|---|---|
//! | `tokio` | [`Limiter::until_ready`], which waits in order of arrival | no |
//! | `policy` | [`Policy`], [`Gate`], [`headers`] and [`telemetry`]; includes `tokio` | no |
//! | `http` | [`http`]: the address of a client, header fields as typed values; includes `policy` | no |
//! | `tower` | [`tower::RateLimitLayer`], [`tower::AdaptiveLayer`] for axum, tonic, hyper; includes `http` | no |
//! | `redis` | [`Redis`], the store in Redis or Valkey; includes `tokio` | no |
//!
//! The in-memory store is always there. Without features there is no async runtime and no network
//! code among the dependencies.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | `limiter`, `async_limiter`, `redis_limiter` | [`Limiter`], [`AsyncLimiter`], [`RedisLimiter`] |
//! | `builder`, `engine` | [`Builder`]; the state that limiters share |
//! | `until_ready`, `wait_queue` | waiting in order of arrival |
//! | `permit`, `clock` | [`Permit`], signed; [`Clock`], [`ManualClock`] |
//! | [`adaptive`] | adaptive concurrency: a limit that follows latency, with partitions |
//! | `gate` | [`Gate`]: a policy over a store, for one request, a batch or an inspection |
//! | [`headers`] | an answer as HTTP headers, rounded up to seconds |
//! | [`http`] | the address of a client, header fields as typed values |
//! | [`tower`] | [`tower::RateLimitLayer`], [`tower::AdaptiveLayer`]: limits in front of a service |
//! | [`telemetry`] | counts by rule, limit and route; latency; top lists; denials |
//!
//! The rest is re-exported: limits and verdicts from `slidegate-core`, stores from
//! `slidegate-store` and `slidegate-store-redis`, policies from `slidegate-policy`.

pub mod adaptive;
mod async_limiter;
mod builder;
mod clock;
mod engine;
mod limiter;
mod permit;

#[cfg(feature = "redis")]
mod redis_limiter;
#[cfg(feature = "tokio")]
mod until_ready;
#[cfg(feature = "tokio")]
mod wait_queue;

#[cfg(feature = "policy")]
mod gate;
#[cfg(feature = "policy")]
pub mod headers;
#[cfg(feature = "http")]
pub mod http;
pub mod store;
#[cfg(feature = "policy")]
pub mod telemetry;
#[cfg(feature = "tower")]
pub mod tower;

#[cfg(all(doctest, feature = "tower"))]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(all(doctest, feature = "policy"))]
#[doc = include_str!("../../../docs/library.md")]
struct TheLibrary;

#[cfg(all(doctest, feature = "tower"))]
#[doc = include_str!("../../../docs/tower.md")]
struct TowerGuide;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/adaptive.md")]
struct AdaptiveConcurrency;

#[cfg(all(doctest, feature = "redis"))]
#[doc = include_str!("../../../docs/redis.md")]
struct SharedLimits;

pub use async_limiter::{AsyncLimiter, CallError};
pub use builder::{BuildError, Builder};
pub use clock::{Clock, ManualClock, SystemClock};
pub use engine::Reservation;
#[cfg(feature = "policy")]
pub use gate::{
    ActivePolicy, Answer, BatchItem, CheckRequest, Gate, GateError, Inspection, ItemAnswer, LimitAnswer,
    LimitUsage, ResetSubject, SettlementPart, SettlementReport, Settlements,
};
pub use limiter::Limiter;
pub use permit::{Permit, PermitError, UnsignedPermit};
#[cfg(feature = "redis")]
pub use redis_limiter::{RedisLimiter, SetupError};
pub use slidegate_core::{
    Decision, Decisions, Grant, Limit, LimitError, LimitId, LimitKind, MAX_ENTRIES, MAX_OPEN_PERMITS,
    MAX_QUOTA, MAX_WINDOW_MS, Outcome, Resolution, Source, Summary, Verdict, Wait,
};
#[cfg(feature = "policy")]
#[doc(inline)]
pub use slidegate_policy as policy;
#[cfg(feature = "policy")]
pub use slidegate_policy::{MAX_ATTRIBUTES, MAX_NAME_BYTES, MAX_VALUE_BYTES, Policy, Request, RequestError};
pub use slidegate_store::{
    Admission, Fallback, Grants, IdempotentOutcome, Key, KeySegment, Memory, OnStoreError, RefundScope,
    ReserveRequest, SettleOutcome, Space, Store, SyncStore,
};
#[cfg(feature = "redis")]
pub use slidegate_store_redis::Redis;
#[cfg(feature = "tokio")]
pub use until_ready::WaitError;
