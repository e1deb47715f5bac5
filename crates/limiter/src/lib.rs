#![doc = include_str!("../../../README.md")]

mod builder;
mod clock;
mod fingerprint;
mod key;
mod limiter;
mod permit;
mod random;
mod sync;

#[cfg(feature = "tokio")]
mod acquire;
#[cfg(feature = "redis")]
mod shared;

pub mod store;

#[cfg(all(doctest, feature = "redis"))]
#[doc = include_str!("../../../docs/redis.md")]
struct SharedLimits;

pub use builder::{BuildError, Builder};
pub use clock::{Clock, ManualClock, SystemClock};
pub use key::{Key, Part, Space};
pub use limiter::{CallError, Limiter, Reservation};
pub use permit::{Permit, PermitError};
#[cfg(feature = "redis")]
pub use shared::SetupError;
pub use slidegate_core::{
    Decision, Decisions, Kind, Limit, LimitError, LimitId, MAX_ENTRIES, MAX_QUOTA, MAX_WINDOW_MS, Outcome,
    Resolution, Source, Verdict,
};
#[cfg(feature = "redis")]
pub use store::fallback::{Fallback, OnStoreError};
pub use store::memory::Memory;
#[cfg(feature = "redis")]
pub use store::redis::Redis;
pub use store::{SettleOutcome, Store};
