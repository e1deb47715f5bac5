//! Envoy's messages, as its authors publish them.

pub(crate) use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
pub(crate) use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::{
    Entry, RateLimitOverride,
};
pub(crate) use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
pub(crate) use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
pub(crate) use envoy_types::pb::google::protobuf::UInt64Value;
