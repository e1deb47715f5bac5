//! Simulations: what limits do under traffic that shows their differences.
//!
//! Time is virtual, the engine is the real one, and the same seed gives the same result.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | `stream` | streams of requests that come whatever the answers are |
//! | `algorithms` | a stream under several algorithms |
//! | `window_count` | what was admitted in the last window, counted without the engine |
//! | `herd` | clients that were refused together, and come again |
//! | `picture` | results as pictures |
//! | `random` | numbers that follow from a seed |

mod algorithms;
mod herd;
mod picture;
mod random;
mod stream;
mod window_count;

pub use algorithms::{AlgorithmResult, WindowPoint, simulate_algorithms};
pub use herd::{HerdCourse, HerdResult, HerdSettings, RETRY_RULES, RetryRule, simulate_herd};
pub use picture::{herd_picture, stream_picture};
pub use stream::{RequestStream, Scenario, StreamError};

/// Time at which all simulations start: the start of a fixed window, whatever its length.
pub(crate) const START_MS: u64 = 20_776 * 86_400_000;
