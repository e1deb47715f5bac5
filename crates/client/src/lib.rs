//! Client side of rate limits: when to retry a refused request, for how long to wait, and when to
//! stop.
//!
//! [`advice()`] is a pure function from a response to a wait with jitter, or to a reason to stop.
//! It reads `Retry-After`, `RateLimit` and `RateLimit-Reset`, never waits less than a server
//! demands, and spreads the clients that were refused together. [`Retry`] adds a budget per origin,
//! and what it does is independent of the HTTP client.
//!
//! # Features
//!
//! | feature | adds | default |
//! |---|---|---|
//! | `tokio` | `TokioEnvironment` and `Retry::new` | no |
//! | `tower` | `RetryLayer`, for HTTP clients that are tower services; includes `tokio` | no |
//! | `reqwest` | `RetryMiddleware`, for `reqwest-middleware`; includes `tokio` | no |
//! | `check` | `check::CheckClient`, for the HTTP API of a Slidegate server; includes `tokio` | no |
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | [`mod@advice`] | the function, its settings and its input; the parsers of headers |
//! | `budget`, `pace`, `origins` | [`RetryBudget`]; intervals from `RateLimit`; the state of each origin |
//! | [`retry`] | [`Retry`], [`Attempts`]: the policy without an HTTP client |
//! | `environment` | [`Environment`]: clocks, sleep and randomness |
//! | `tower`, `reqwest` | the hooks of HTTP clients |
//! | `check` | the client of a Slidegate server, its answers and errors |

#[cfg(all(doctest, feature = "check", feature = "reqwest", feature = "tower"))]
#[doc = include_str!("../../../docs/client.md")]
struct GoodClient;

pub mod advice;
mod budget;
#[cfg(feature = "check")]
pub mod check;
mod environment;
mod origins;
mod pace;
#[cfg(feature = "reqwest")]
mod reqwest;
pub mod retry;
#[cfg(feature = "tower")]
mod tower;

#[cfg(feature = "reqwest")]
pub use self::reqwest::RetryMiddleware;
#[cfg(feature = "tower")]
pub use self::tower::{ReplayableBody, RetryLayer, RetryService};
pub use advice::{Advice, Backoff, Exchange, RetrySettings, Stop, advice};
pub use budget::RetryBudget;
pub use environment::Environment;
#[cfg(feature = "tokio")]
pub use environment::TokioEnvironment;
pub use retry::{Attempts, Retry};
