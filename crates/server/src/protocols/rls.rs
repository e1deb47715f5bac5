//! Envoy's rate limit service: messages into requests, answers into messages.

pub(crate) mod descriptor_status;
pub(crate) mod descriptors;
pub(crate) mod failure;
pub(crate) mod json;
mod json_response;
mod json_values;
pub(crate) mod limits;
pub(crate) mod metadata;
pub(crate) mod proto;
pub(crate) mod service;
pub(crate) mod units;
