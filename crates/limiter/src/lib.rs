#![doc = include_str!("../../../README.md")]

mod builder;
mod clock;
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
pub mod store;
#[cfg(feature = "policy")]
pub mod telemetry;

#[cfg(all(doctest, feature = "policy"))]
#[doc = include_str!("../../../docs/library.md")]
struct TheLibrary;

#[cfg(all(doctest, feature = "redis"))]
#[doc = include_str!("../../../docs/redis.md")]
struct SharedLimits;

pub use builder::{BuildError, Builder};
pub use clock::{Clock, ManualClock, SystemClock};
#[cfg(feature = "policy")]
pub use gate::{
    ActivePolicy, Answer, Answers, Ask, AtOnce, Demand, DemandAnswer, Forgotten, Gate, GateError,
    LimitAnswer, LimitLook, Looked, SettlementPart, SettlementReport, Settlements,
};
pub use limiter::{CallError, Limiter, Reservation};
pub use permit::{Permit, PermitError};
#[cfg(feature = "redis")]
pub use redis_limiter::SetupError;
pub use slidegate_core::{
    Decision, Decisions, Grant, Kind, Limit, LimitError, LimitId, MAX_ENTRIES, MAX_OPEN_PERMITS, MAX_QUOTA,
    MAX_WINDOW_MS, Outcome, Resolution, Source, Summary, Verdict, Wait,
};
#[cfg(feature = "policy")]
#[doc(inline)]
pub use slidegate_policy as policy;
#[cfg(feature = "policy")]
pub use slidegate_policy::{MAX_ATTRIBUTES, MAX_NAME_BYTES, MAX_VALUE_BYTES, Policy, Request, RequestError};
pub use slidegate_store::{
    Admission, Fallback, Granted, Key, Memory, OnStoreError, Once, Part, Reserve, Returns, SettleOutcome,
    Space, Store,
};
#[cfg(feature = "redis")]
pub use slidegate_store_redis::Redis;
