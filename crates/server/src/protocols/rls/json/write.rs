//! The answer, as the JSON of protocol buffers has it. What a message has no value for is left out.

use prost_types::value::Kind;
use prost_types::{Duration, Struct, Value};

use super::{CODES, UNITS};
use crate::protocols::json;
use crate::protocols::json::Commas;
use crate::protocols::rls::proto::{DescriptorStatus, RateLimit, RateLimitResponse};

const BODY_BYTES: usize = 512;

pub(crate) fn response(response: &RateLimitResponse) -> Vec<u8> {
    let mut out = Vec::with_capacity(BODY_BYTES);
    out.extend_from_slice(b"{\"overallCode\":");
    json::text(&mut out, named(&CODES, response.overall_code));
    member(&mut out, "statuses");
    list(&mut out, &response.statuses, status);
    if !response.response_headers_to_add.is_empty() {
        member(&mut out, "responseHeadersToAdd");
        list(&mut out, &response.response_headers_to_add, |out, header| {
            out.extend_from_slice(b"{\"key\":");
            json::text(out, &header.key);
            member(out, "value");
            json::text(out, &header.value);
            out.push(b'}');
        });
    }
    if let Some(metadata) = &response.dynamic_metadata {
        member(&mut out, "dynamicMetadata");
        object(&mut out, metadata);
    }
    out.push(b'}');
    out
}

/// The name of a member that is not the first.
fn member(out: &mut Vec<u8>, name: &str) {
    out.push(b',');
    json::text(out, name);
    out.push(b':');
}

fn list<T>(out: &mut Vec<u8>, items: &[T], mut write: impl FnMut(&mut Vec<u8>, &T)) {
    let mut commas = Commas::new();
    out.push(b'[');
    for item in items {
        commas.next(out);
        write(out, item);
    }
    out.push(b']');
}

/// Name of a number; the first if it has none.
fn named<'n>(names: &[&'n str], number: i32) -> &'n str {
    let place = usize::try_from(number).unwrap_or(0);
    names.get(place).unwrap_or(&names[0])
}

fn status(out: &mut Vec<u8>, status: &DescriptorStatus) {
    out.extend_from_slice(b"{\"code\":");
    json::text(out, named(&CODES, status.code));
    if let Some(RateLimit { requests_per_unit, unit, name }) = &status.current_limit {
        member(out, "currentLimit");
        out.extend_from_slice(b"{\"requestsPerUnit\":");
        json::number(out, u64::from(*requests_per_unit));
        member(out, "unit");
        json::text(out, named(&UNITS, *unit));
        member(out, "name");
        json::text(out, name);
        out.push(b'}');
        // Also if it is 0: clients read it.
        member(out, "limitRemaining");
        json::number(out, u64::from(status.limit_remaining));
    }
    if let Some(reset) = &status.duration_until_reset {
        member(out, "durationUntilReset");
        duration(out, reset);
    }
    out.push(b'}');
}

/// In seconds, with milliseconds where there are any.
fn duration(out: &mut Vec<u8>, Duration { seconds, nanos }: &Duration) {
    let text = match nanos / 1_000_000 {
        0 => format!("\"{seconds}s\""),
        ms => format!("\"{seconds}.{ms:03}s\""),
    };
    out.extend_from_slice(text.as_bytes());
}

fn object(out: &mut Vec<u8>, Struct { fields }: &Struct) {
    let mut commas = Commas::new();
    out.push(b'{');
    for (name, known) in fields {
        commas.next(out);
        json::text(out, name);
        out.push(b':');
        value(out, known);
    }
    out.push(b'}');
}

fn value(out: &mut Vec<u8>, Value { kind }: &Value) {
    match kind {
        None | Some(Kind::NullValue(_)) => out.extend_from_slice(b"null"),
        Some(Kind::BoolValue(known)) => out.extend_from_slice(if *known { b"true" } else { b"false" }),
        Some(Kind::NumberValue(number)) => out.extend_from_slice(number.to_string().as_bytes()),
        Some(Kind::StringValue(text)) => json::text(out, text),
        Some(Kind::ListValue(values)) => list(out, &values.values, value),
        Some(Kind::StructValue(members)) => object(out, members),
    }
}
