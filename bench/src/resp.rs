//! Servers that speak the protocol of Redis: one core for each of them in turn, the other for the
//! load.

pub mod cases;
pub mod commands;
pub mod connections;
pub mod contender;
pub mod replies;
pub mod servers;

use crate::http::Scale;

/// Everything. A command is short, so a turn has many: the kernel's books of a core's time are to
/// be exact to a hundredth.
pub const FULL: Scale = Scale { rounds: 15, requests: 400_000 };
/// Fewer and shorter rounds.
pub const QUICK: Scale = Scale { rounds: 5, requests: 100_000 };
