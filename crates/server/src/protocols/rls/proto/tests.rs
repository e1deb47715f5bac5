//! The messages, byte by byte: as Envoy's own files have them, and as ours under `proto/` do.

use std::collections::BTreeMap;
use std::fmt::Debug;

use envoy_types::pb::envoy::service::ratelimit::v3 as envoy;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage};
use prost_types::value::Kind;
use prost_types::{Duration, ListValue, Struct, Value};
use slidegate_testkit::cases::{Rng, prove};

use super::{
    Code, DescriptorEntry, DescriptorStatus, HeaderValue, RateLimit, RateLimitDescriptor, RateLimitOverride,
    RateLimitRequest, RateLimitResponse, Unit,
};

/// Both read what the other has written, and write it again as it was.
fn is_the_same<Ours, Theirs>(ours: &Ours) -> Result<(), String>
where
    Ours: Message + Default + PartialEq + Debug,
    Theirs: Message + Default + Debug,
{
    let bytes = ours.encode_to_vec();
    let theirs = Theirs::decode(&bytes[..]).map_err(|error| format!("{error}: {ours:?}"))?;
    let again = theirs.encode_to_vec();
    if again != bytes {
        return Err(format!("{bytes:?} became {again:?}: {ours:?} and {theirs:?}"));
    }
    let back = Ours::decode(&again[..]).map_err(|error| format!("{error}: {theirs:?}"))?;
    if &back == ours { Ok(()) } else { Err(format!("{ours:?} became {back:?}")) }
}

fn text(rng: &Rng) -> String {
    const TEXTS: [&str; 6] = ["", "a", "generic_key", "remote_address", "203.0.113.7", "µ ✓ \u{1F980} \0"];
    match rng.below(8) {
        0 => "x".repeat(rng.below(300) as usize),
        _ => rng.pick(&TEXTS).to_owned(),
    }
}

/// Any number, those at the edges of its bytes as likely as others.
fn number(rng: &Rng) -> u64 {
    rng.pick(&[0, 1, 127, 128, u64::from(u32::MAX), u64::MAX, rng.magnitude(u64::MAX)])
}

fn some<T>(rng: &Rng, one: impl Fn(&Rng) -> T) -> Vec<T> {
    (0..rng.below(4)).map(|_| one(rng)).collect()
}

fn maybe<T>(rng: &Rng, one: impl Fn(&Rng) -> T) -> Option<T> {
    rng.one_in(2).then(|| one(rng))
}

fn request(rng: &Rng) -> RateLimitRequest {
    let descriptor = |rng: &Rng| RateLimitDescriptor {
        entries: some(rng, |rng| DescriptorEntry { key: text(rng), value: text(rng).into() }),
        limit: maybe(rng, |rng| RateLimitOverride {
            requests_per_unit: number(rng) as u32,
            unit: rng.below(9) as i32 - 1,
        }),
        hits_addend: maybe(rng, number),
        is_negative_hits: rng.one_in(2),
    };
    RateLimitRequest {
        domain: text(rng),
        descriptors: some(rng, descriptor),
        hits_addend: number(rng) as u32,
    }
}

fn response(rng: &Rng) -> RateLimitResponse {
    let limit = |rng: &Rng| RateLimit {
        requests_per_unit: number(rng) as u32,
        unit: rng.below(9) as i32 - 1,
        name: text(rng),
    };
    let duration =
        |rng: &Rng| Duration { seconds: number(rng) as i64, nanos: rng.below(1_000_000_000) as i32 };
    let status = |rng: &Rng| DescriptorStatus {
        code: rng.below(4) as i32,
        current_limit: maybe(rng, limit),
        limit_remaining: number(rng) as u32,
        duration_until_reset: maybe(rng, duration),
    };
    RateLimitResponse {
        overall_code: rng.below(4) as i32,
        statuses: some(rng, status),
        response_headers_to_add: some(rng, |rng| HeaderValue { key: text(rng), value: text(rng) }),
        dynamic_metadata: maybe(rng, |rng| structure(rng, 3)),
    }
}

/// With one member at most: Envoy's generated code writes several in any order.
fn structure(rng: &Rng, depth: u64) -> Struct {
    Struct { fields: maybe(rng, |rng| (text(rng), value(rng, depth))).into_iter().collect() }
}

fn value(rng: &Rng, depth: u64) -> Value {
    let kind = match rng.below(if depth == 0 { 4 } else { 6 }) {
        0 => Kind::NullValue(0),
        1 => Kind::NumberValue(number(rng) as f64),
        2 => Kind::StringValue(text(rng)),
        3 => Kind::BoolValue(rng.one_in(2)),
        4 => Kind::StructValue(structure(rng, depth - 1)),
        _ => Kind::ListValue(ListValue { values: some(rng, |rng| value(rng, depth - 1)) }),
    };
    Value { kind: Some(kind) }
}

#[test]
fn requests_are_those_of_envoy() {
    prove(|rng| (request(rng), vec![()]), |request, _| is_the_same::<_, envoy::RateLimitRequest>(request));
}

#[test]
fn answers_are_those_of_envoy() {
    prove(
        |rng| (response(rng), vec![()]),
        |response, _| is_the_same::<_, envoy::RateLimitResponse>(response),
    );
}

/// A request and an answer in which nothing is left out.
fn full() -> (RateLimitRequest, RateLimitResponse) {
    let entry = |key: &str, value: &str| DescriptorEntry { key: key.to_owned(), value: value.into() };
    let limit = RateLimitOverride { requests_per_unit: 7, unit: Unit::Month as i32 };
    let descriptor = RateLimitDescriptor {
        entries: vec![entry("user", "alice"), entry("path", "/")],
        limit: Some(limit),
        hits_addend: Some(3),
        is_negative_hits: true,
    };
    let request = RateLimitRequest { domain: "d".to_owned(), descriptors: vec![descriptor], hits_addend: 5 };
    let current = RateLimit { requests_per_unit: 9, unit: Unit::Week as i32, name: "api-9/w".to_owned() };
    let status = DescriptorStatus {
        code: Code::OverLimit as i32,
        current_limit: Some(current),
        limit_remaining: 1,
        duration_until_reset: Some(Duration { seconds: 2, nanos: 500_000_000 }),
    };
    let fields =
        BTreeMap::from([("rule".to_owned(), Value { kind: Some(Kind::StringValue("api".to_owned())) })]);
    let header = HeaderValue { key: "ratelimit".to_owned(), value: "r=1".to_owned() };
    let response = RateLimitResponse {
        overall_code: Code::OverLimit as i32,
        statuses: vec![status],
        response_headers_to_add: vec![header],
        dynamic_metadata: Some(Struct { fields }),
    };
    (request, response)
}

/// The bytes themselves, since both sides of the other tests use one library.
#[test]
fn byte_by_byte() {
    let (request, response) = full();
    let expected = b"\x0a\x01d\x12\x26\x0a\x0d\x0a\x04user\x12\x05alice\x0a\x09\x0a\x04path\x12\x01/\
                     \x12\x04\x08\x07\x10\x05\x1a\x02\x08\x03\x20\x01\x18\x05";
    assert_eq!(request.encode_to_vec(), expected);
    let expected = b"\x08\x02\x12\x1d\x08\x02\x12\x0d\x08\x09\x10\x07\x1a\x07api-9/w\x18\x01\x22\x08\x08\x02\x10\x80\xca\xb5\xee\x01\
                     \x1a\x10\x0a\x09ratelimit\x12\x03r=1\x32\x0f\x0a\x0d\x0a\x04rule\x12\x05\x1a\x03api";
    assert_eq!(response.encode_to_vec(), expected);
    is_the_same::<_, envoy::RateLimitRequest>(&request).expect("the same");
    is_the_same::<_, envoy::RateLimitResponse>(&response).expect("the same");
}

/// Nothing that is written is unknown to the files, and nothing that is in the files is left out.
#[test]
fn the_files_say_the_same() {
    let pool =
        DescriptorPool::decode(&include_bytes!("../../../../proto/compiled.bin")[..]).expect("descriptors");
    let (request, response) = full();
    let rows =
        [("RateLimitRequest", request.encode_to_vec()), ("RateLimitResponse", response.encode_to_vec())];
    for (name, bytes) in rows {
        let kind =
            pool.get_message_by_name(&format!("envoy.service.ratelimit.v3.{name}")).expect("a message");
        let message = DynamicMessage::decode(kind, &bytes[..]).expect("it reads");
        assert_eq!(message.encode_to_vec(), bytes);
        is_full(&message);
    }
}

fn is_full(message: &DynamicMessage) {
    assert_eq!(message.unknown_fields().count(), 0, "{message:?}");
    // Of a value there is one kind at a time.
    if message.descriptor().full_name() == "google.protobuf.Value" {
        return;
    }
    for field in message.descriptor().fields() {
        assert!(message.has_field(&field), "{} is left out: {message:?}", field.full_name());
        let value = message.get_field(&field);
        let all = value.as_list().map_or(std::slice::from_ref(&*value), |list| list);
        all.iter().filter_map(prost_reflect::Value::as_message).for_each(is_full);
    }
}
