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
#[cfg(feature = "tokio")]
mod lines;
#[cfg(feature = "redis")]
mod shared;

#[cfg(feature = "policy")]
mod gate;
#[cfg(feature = "policy")]
pub mod headers;
#[cfg(feature = "policy")]
pub mod observe;
#[cfg(feature = "policy")]
pub mod policy;
#[cfg(feature = "policy")]
mod request;
pub mod store;

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
pub use key::{Key, Part, Space};
pub use limiter::{CallError, Limiter, Reservation};
pub use permit::{Permit, PermitError};
#[cfg(feature = "policy")]
pub use policy::Policy;
#[cfg(feature = "policy")]
pub use request::{MAX_ATTRIBUTES, MAX_NAME_BYTES, MAX_VALUE_BYTES, Request, RequestError};
#[cfg(feature = "redis")]
pub use shared::SetupError;
pub use slidegate_core::{
    Decision, Decisions, Grant, Kind, Limit, LimitError, LimitId, MAX_ENTRIES, MAX_OPEN_PERMITS, MAX_QUOTA,
    MAX_WINDOW_MS, Outcome, Resolution, Source, Summary, Verdict, Wait,
};
pub use store::fallback::{Fallback, OnStoreError};
pub use store::memory::Memory;
#[cfg(feature = "redis")]
pub use store::redis::Redis;
pub use store::{Admission, Granted, Once, Reserve, Returns, SettleOutcome, Store};
