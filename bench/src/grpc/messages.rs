//! Envoy's messages, as far as a call needs them.

use prost::Message;

/// The service that all contenders offer.
pub const SERVICE: &str = "envoy.service.ratelimit.v3.RateLimitService";
/// Path of the call.
pub const PATH: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// `overall_code` and `code`: it may pass.
pub const OK: i32 = 1;
/// `overall_code` and `code`: it may not.
pub const OVER_LIMIT: i32 = 2;

/// Request.
#[derive(Clone, PartialEq, Message)]
pub struct RateLimitRequest {
    /// Domain.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// Descriptors.
    #[prost(message, repeated, tag = "2")]
    pub descriptors: Vec<Descriptor>,
    /// Cost; 0 means 1.
    #[prost(uint32, tag = "3")]
    pub hits_addend: u32,
}

/// Descriptor.
#[derive(Clone, PartialEq, Message)]
pub struct Descriptor {
    /// Entries.
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<Pair>,
}

/// A name and a value: an entry of a descriptor, or a header of an answer.
#[derive(Clone, PartialEq, Message)]
pub struct Pair {
    /// The name.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// Response.
#[derive(Clone, PartialEq, Message)]
pub struct RateLimitResponse {
    /// Code of all descriptors together.
    #[prost(int32, tag = "1")]
    pub overall_code: i32,
    /// Status of each descriptor.
    #[prost(message, repeated, tag = "2")]
    pub statuses: Vec<Status>,
    /// Headers for the client.
    #[prost(message, repeated, tag = "3")]
    pub response_headers_to_add: Vec<Pair>,
}

/// Status of one descriptor.
#[derive(Clone, PartialEq, Message)]
pub struct Status {
    /// Code: OK or OVER_LIMIT.
    #[prost(int32, tag = "1")]
    pub code: i32,
    /// The limit that was closest to refusing.
    #[prost(message, optional, tag = "2")]
    pub current_limit: Option<Limit>,
    /// Remaining units.
    #[prost(uint32, tag = "3")]
    pub limit_remaining: u32,
    /// Time until the limit is reset.
    #[prost(message, optional, tag = "4")]
    pub duration_until_reset: Option<Span>,
}

/// A limit.
#[derive(Clone, PartialEq, Message)]
pub struct Limit {
    /// Quota.
    #[prost(uint32, tag = "1")]
    pub requests_per_unit: u32,
    /// Unit of the window, as Envoy numbers them.
    #[prost(int32, tag = "2")]
    pub unit: i32,
    /// Name.
    #[prost(string, tag = "3")]
    pub name: String,
}

/// A time.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Span {
    /// Whole seconds.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// The rest of it.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

impl RateLimitRequest {
    /// Request of Envoy for a path and an address.
    pub fn new(path: &str, ip: String) -> Self {
        let pair = |(key, value): (&str, String)| Pair { key: key.to_owned(), value };
        let entries = [("method", "POST".to_owned()), ("path", path.to_owned()), ("ip", ip)].map(pair).into();
        Self { domain: "bench".to_owned(), descriptors: vec![Descriptor { entries }], hits_addend: 0 }
    }

    /// Body of a call: a byte for no compression, the length, the message.
    pub fn framed(&self) -> Vec<u8> {
        let length = u32::try_from(self.encoded_len()).expect("a message is short");
        let mut bytes = vec![0];
        bytes.extend(length.to_be_bytes());
        self.encode(&mut bytes).expect("a vector takes what is written");
        bytes
    }
}

impl RateLimitResponse {
    /// Response as long as Slidegate's to a request that one limit admits.
    pub fn admitted() -> Self {
        let header = |key: &str, value: &str| Pair { key: key.to_owned(), value: value.to_owned() };
        let limit = Limit { requests_per_unit: 1000, unit: 1, name: "allowed-1000/s".to_owned() };
        let status = Status {
            code: OK,
            current_limit: Some(limit),
            limit_remaining: 999,
            duration_until_reset: Some(Span { seconds: 0, nanos: 987_000_000 }),
        };
        Self {
            overall_code: OK,
            statuses: vec![status],
            response_headers_to_add: vec![
                header("ratelimit-policy", r#""allowed-1000/s";q=1000;w=1"#),
                header("ratelimit", r#""allowed-1000/s";r=999;t=1"#),
            ],
        }
    }
}
