//! Network: listeners, connections and TLS.

pub(crate) mod accept;
pub(crate) mod byte_budget;
pub(crate) mod connections;
pub(crate) mod network;
mod overload;
pub(crate) mod serve;
pub(crate) mod tls;
pub(crate) mod tracked_io;
