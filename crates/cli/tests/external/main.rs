//! The `slidegate` program with the programs that others write: proxies, browsers, clients and
//! tools.
//!
//! scripts/test installs them; each is named by a variable of the environment.

mod console;
mod envoy;
mod gateways;
mod headers_parse;
mod k6;
mod packaging;
mod prometheus;
mod replay_report;
mod resp_clients;
mod schema_fuzz;
