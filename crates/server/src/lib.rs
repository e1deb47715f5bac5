//! Slidegate as a service: a policy behind HTTP.
//!
//! [`App`] is what decides; [`run`] serves it on listeners that are already bound, until it is told to stop.

mod app;
mod config;
mod connections;
mod http;
mod listen;
mod store;

use std::future::Future;
use std::sync::Arc;

use slidegate::Clock;
use tokio::net::TcpListener;

pub use app::App;
pub use config::{Config, ConfigError};
pub use http::MAX_BODY_BYTES;
pub use store::Backend;

/// Where the service is reached.
#[derive(Debug)]
pub struct Listeners {
    /// Checks and forward-auth over HTTP.
    pub http: TcpListener,
}

/// Serves until `shutdown` completes; then nothing new is accepted, and what is being answered gets ten seconds.
pub async fn run<C: Clock + 'static>(
    app: Arc<App<C>>,
    listeners: Listeners,
    shutdown: impl Future<Output = ()>,
) {
    listen::listen(app, listeners.http, shutdown).await;
}
