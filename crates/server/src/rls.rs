//! Envoy's rate limit service: messages into requests, answers into messages, and nothing else.
//!
//! gRPC is spoken over `h2` itself: what the store answers at once is answered where it was read, without a task for each call.

mod call;
pub(crate) mod connection;
mod deadline;
mod descriptors;
pub(crate) mod failure;
mod frames;
mod health;
mod limits;
mod message;
mod metadata;
mod noted;
pub(crate) mod proto;
mod reflection;
mod reply;
mod routes;
pub(crate) mod service;
mod statuses;
pub(crate) mod unfinished;
mod units;
mod visit;
