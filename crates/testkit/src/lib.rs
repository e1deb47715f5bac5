//! Support for the tests of this workspace: no crate depends on it except for its tests.
//!
//! # Layout
//!
//! - [`cases`]: seeded cases for properties, which shrink to the shortest list of steps that fails
//! - [`certificates`]: certificates and directories of certificate files (feature `certificates`)
//! - [`http2`]: HTTP/2 frames for clients that violate the protocol (feature `http2`)
//! - [`log_lines`]: lines of `tracing`, collected for a test (feature `log`)
//! - [`process`]: tests in processes of their own
//! - [`program`]: the `slidegate` program and an HTTP client for it (feature `program`)
//! - [`servers`]: Redis and Valkey servers on loopback, and a proxy that breaks connections
//!   (feature `servers`)
//! - [`vectors`], [`leases`]: the JSON of the golden vectors (feature `vectors`)

pub mod cases;
#[cfg(feature = "certificates")]
pub mod certificates;
#[cfg(feature = "http2")]
pub mod http2;
#[cfg(feature = "vectors")]
pub mod leases;
#[cfg(feature = "log")]
pub mod log_lines;
pub mod process;
#[cfg(feature = "program")]
pub mod program;
#[cfg(feature = "servers")]
pub mod servers;
#[cfg(feature = "vectors")]
pub mod vectors;
