//! Envoy's messages, as far as they are used. Tests compare them with the files under `proto/`.
//!
//! A request can also be read from JSON, with names in either form.

use prost::{Enumeration, Message};
use prost_types::{Duration, Struct};
use serde::Deserialize;

use super::json_values;

/// `envoy.service.ratelimit.v3.RateLimitRequest`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RateLimitRequest {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "json_values::or_default")]
    pub(crate) domain: String,
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "json_values::or_default")]
    pub(crate) descriptors: Vec<RateLimitDescriptor>,
    /// 0, the default, counts as 1.
    #[prost(uint32, tag = "3")]
    #[serde(alias = "hitsAddend", deserialize_with = "json_values::number")]
    pub(crate) hits_addend: u32,
}

/// `envoy.extensions.common.ratelimit.v3.RateLimitDescriptor`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RateLimitDescriptor {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "json_values::or_default")]
    pub(crate) entries: Vec<DescriptorEntry>,
    #[prost(message, optional, tag = "2")]
    pub(crate) limit: Option<RateLimitOverride>,
    /// `google.protobuf.UInt64Value`: 0 is not the same as none.
    #[prost(message, optional, tag = "3")]
    #[serde(alias = "hitsAddend", deserialize_with = "json_values::some_number")]
    pub(crate) hits_addend: Option<u64>,
    #[prost(bool, tag = "4")]
    #[serde(alias = "isNegativeHits", deserialize_with = "json_values::or_default")]
    pub(crate) is_negative_hits: bool,
}

/// `RateLimitDescriptor.Entry`.
#[derive(Clone, PartialEq, Eq, Hash, Message, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DescriptorEntry {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "json_values::or_default")]
    pub(crate) key: String,
    /// A string in Envoy's file, but it may be any bytes that a client sent: invalid UTF-8 must not
    /// make the call an error.
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "json_values::bytes")]
    pub(crate) value: Vec<u8>,
}

/// `RateLimitDescriptor.RateLimitOverride`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RateLimitOverride {
    #[prost(uint32, tag = "1")]
    #[serde(alias = "requestsPerUnit", deserialize_with = "json_values::number")]
    pub(crate) requests_per_unit: u32,
    #[prost(enumeration = "Unit", tag = "2")]
    #[serde(deserialize_with = "json_values::unit")]
    pub(crate) unit: i32,
}

/// `envoy.service.ratelimit.v3.RateLimitResponse`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RateLimitResponse {
    #[prost(enumeration = "Code", tag = "1")]
    pub(crate) overall_code: i32,
    #[prost(message, repeated, tag = "2")]
    pub(crate) statuses: Vec<DescriptorStatus>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) response_headers_to_add: Vec<HeaderValue>,
    #[prost(message, optional, tag = "6")]
    pub(crate) dynamic_metadata: Option<Struct>,
}

/// `RateLimitResponse.DescriptorStatus`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(crate) struct DescriptorStatus {
    #[prost(enumeration = "Code", tag = "1")]
    pub(crate) code: i32,
    #[prost(message, optional, tag = "2")]
    pub(crate) current_limit: Option<RateLimit>,
    #[prost(uint32, tag = "3")]
    pub(crate) limit_remaining: u32,
    #[prost(message, optional, tag = "4")]
    pub(crate) duration_until_reset: Option<Duration>,
}

/// `RateLimitResponse.RateLimit`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(crate) struct RateLimit {
    #[prost(uint32, tag = "1")]
    pub(crate) requests_per_unit: u32,
    #[prost(enumeration = "Unit", tag = "2")]
    pub(crate) unit: i32,
    #[prost(string, tag = "3")]
    pub(crate) name: String,
}

/// `envoy.config.core.v3.HeaderValue`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(crate) struct HeaderValue {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

/// `RateLimitResponse.Code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(crate) enum Code {
    Unknown = 0,
    Ok = 1,
    OverLimit = 2,
}

/// `RateLimitResponse.RateLimit.Unit`, and `envoy.type.v3.RateLimitUnit`, which has no week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(crate) enum Unit {
    Unknown = 0,
    Second = 1,
    Minute = 2,
    Hour = 3,
    Day = 4,
    Month = 5,
    Year = 6,
    Week = 7,
}

#[cfg(test)]
mod tests;
