//! gRPC over HTTP/2: connections, calls and messages, with health checks and reflection.
//!
//! It uses `h2` directly: a call that the store decides synchronously is answered where it was
//! read, without a task of its own.

pub(crate) mod call;
pub(crate) mod connection;
pub(crate) mod connection_state;
pub(crate) mod deadline;
pub(crate) mod frames;
pub(crate) mod health;
pub(crate) mod message;
pub(crate) mod reflection;
pub(crate) mod reply;
pub(crate) mod routes;
pub(crate) mod status;
mod tracker;
