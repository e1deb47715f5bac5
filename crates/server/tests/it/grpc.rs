//! Envoy's rate limit service as its clients see it: bytes over a socket, and clients that mean
//! harm.

pub(crate) mod client;
mod proto;
mod service;

mod ad_hoc;
mod bad_calls;
mod caps;
mod compiled;
mod deadlines;
mod envoy_client;
mod flow;
mod garbage;
mod heads;
mod health;
mod hostile;
mod outage;
mod reflection;
mod stopping;
mod time_outs;
mod tls;
mod token;
mod unauthenticated;
mod unfinished;
