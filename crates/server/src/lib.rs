//! Slidegate as a server: a policy behind HTTP, gRPC and the protocol of Redis.
//!
//! [`Runtime`] is what decides; [`run`] serves it on listeners that are already bound, until
//! shutdown.
//!
//! # Layout
//!
//! A module may use those above it, and none below; a test of this crate holds that.
//!
//! | module | contains |
//! |---|---|
//! | `config` | settings of the file, its `schema`, `listener`, `exposure` of listeners, `pem` files, errors |
//! | [`http_client`] | HTTP client of the OTLP exporter and of the command line |
//! | `telemetry` | `metrics` formats, `otlp`, `denial_log`, `audit`, `log_writer`, `auth_failures` |
//! | `net` | `accept` loop, `serve`, `connection_admission`, `connections` (slots, time-outs, turns, pace), `tls`, `tracked_io`, `byte_budget` |
//! | `runtime` | `decider`, which all protocols ask, and what changes it: `reload`, `overrides`, `snapshot`, `certificates` |
//! | `protocols` | transports `http`, `grpc` and `resp`; the check API `rest`; Envoy's service `rls`; what they share |
//! | `admin` | the admin listener: a module per route, the `console`, and its `events` |
//! | `server` | listeners with their protocols, and the tasks in the background |
//!
//! A protocol only translates bytes; it neither decides nor counts.

mod admin;
pub mod config;
pub mod http_client;
mod net;
mod protocols;
mod runtime;
mod server;
mod telemetry;

pub use config::Config;
pub use config::error::ConfigError;
pub use config::otlp_error::OtlpError;
pub use config::snapshot_error::SnapshotStartError;
pub use config::tls_error::TlsError;
pub use net::connections::ConnectionStats;
pub use net::tls::TlsState;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use protocols::resp::compare_parsers;
pub use runtime::Runtime;
pub use runtime::backend::Backend;
pub use runtime::overrides::{NewOverride, OverrideError, OverrideRecord};
pub use runtime::reload::{PolicySource, ReloadError, ReloadState, ReloadSummary};
pub use runtime::snapshot::{RestoreOutcome, SnapshotState};
pub use server::{Listeners, run};
pub use telemetry::denial_log::DenialLogStats;
pub use telemetry::log_writer::{LOG_TARGET, LogStats, LogWriter};
