//! Rate limits for tower services: axum, tonic, hyper.
//!
//! [`RateLimitLayer`] decides every request by the rules of a [`Gate`](crate::Gate) before it reaches
//! the service. A refusal is a response: 429 with `application/problem+json`, or a gRPC status.
//!
//! ```
//! use slidegate::tower::RateLimitLayer;
//! use tower_layer::Layer;
//!
//! // Per client address: 10 a second and 600 a minute.
//! let layer = RateLimitLayer::per_client(["10/s", "600/min"])?;
//! # let service = layer.layer(());
//! # Ok::<(), slidegate::tower::LayerError>(())
//! ```
//!
//! Rules of a policy file work as in the server. Requests have the attributes `method`, `path`, `host`
//! and `ip`, and those that [`RateLimitLayer::attribute`] and [`RateLimitLayer::attribute_with`] add:
//!
//! ```no_run
//! # use slidegate::{Gate, Memory, Policy};
//! # use slidegate::tower::RateLimitLayer;
//! # use std::sync::Arc;
//! let gate = Arc::new(Gate::new(Policy::load("policy.yaml")?, Memory::default()));
//! let layer = RateLimitLayer::new(gate).attribute("api_key", "x-api-key");
//! # Ok::<(), slidegate::policy::LoadError>(())
//! ```
//!
//! [`AdaptiveLayer`] bounds the requests in flight by what their latency shows the service can take.
//!
//! A rule with an in-flight limit counts a request until its response body ends or is dropped. A
//! handler settles a reserved cost with the request extension [`ChargeHandle`].

mod adaptive;
mod attributes;
mod body;
mod charge_handle;
mod future;
mod layer;
mod refusal;
mod service;

pub use adaptive::{AdaptiveLayer, AdaptiveService, completion_of};
pub use body::LimitedBody;
pub use charge_handle::{ChargeGuard, ChargeHandle};
pub use future::ResponseFuture;
pub use layer::{LayerError, RateLimitLayer};
pub use refusal::Refusal;
pub use service::RateLimitService;
