//! Protocols that requests arrive in: a folder each. A new one also has a listener in
//! `config/listener.rs` and its dispatch in `server.rs`.

pub(crate) mod ad_hoc_limit;
pub(crate) mod auth;
pub(crate) mod grpc;
pub(crate) mod health;
pub(crate) mod http;
pub(crate) mod json_body;
pub(crate) mod overload;
pub(crate) mod problem;
pub(crate) mod query;
pub(crate) mod reply_body;
pub(crate) mod request_id;
pub(crate) mod resp;
pub(crate) mod rest;
pub(crate) mod rls;
#[cfg(test)]
pub(crate) mod tests;
