//! Envoy's rate limit service as its clients see it: bytes over a socket, and clients that mean harm.

#[path = "../../../core/tests/properties/cases.rs"]
#[allow(dead_code, unused_macros, unused_imports, reason = "a part of it is used")]
mod cases;
#[path = "../../src/protocols/rls/proto.rs"]
#[allow(dead_code, unreachable_pub, reason = "the messages of the service, which are its own")]
mod proto;
#[path = "../../../limiter/tests/servers/mod.rs"]
mod servers;

#[path = "../tls/authority.rs"]
mod authority;
mod client;
#[path = "../tls/files.rs"]
mod files;
mod raw;
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
mod open;
mod outage;
mod reflection;
mod stopping;
mod time_outs;
mod tls;
mod token;
mod unfinished;
mod wire;
