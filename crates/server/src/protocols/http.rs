//! HTTP/1.1: connections, requests and bodies, for the check API and the admin API alike.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod handler;
mod raw_response;
mod tracker;
