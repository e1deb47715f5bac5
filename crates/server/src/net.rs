//! Network: listeners, connections and TLS.

pub(crate) mod accept;
pub(crate) mod byte_budget;
mod connection_admission;
pub(crate) mod connections;
pub(crate) mod network;
pub(crate) mod serve;
pub(crate) mod tls;
pub(crate) mod tracked_io;
