//! Client side of rate limits: when to retry a refused request, for how long to wait, and when to
//! stop.
//!
//! [`advice()`] is a pure function from a response to a wait with jitter, or to a reason to stop. It
//! reads `Retry-After`, `RateLimit` and `RateLimit-Reset`, never waits less than a server demands,
//! and spreads the clients that were refused together.
//!
//! # Layout
//!
//! - [`mod@advice`]: the function, its settings and its input

#![forbid(unsafe_code)]

pub mod advice;

pub use advice::{Advice, Exchange, Settings, Stop, Wait, advice};
