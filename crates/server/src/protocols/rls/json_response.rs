//! Response of Envoy's service in the JSON of protocol buffers. Fields without a value are left
//! out.

use prost_types::value::Kind;
use prost_types::{Duration, Struct, Value};
use slidegate::http::json::{self, Commas};

use super::json_values::{CODES, UNITS};
use super::proto::{DescriptorStatus, RateLimit, RateLimitResponse};

const BODY_BYTES: usize = 512;

pub(super) fn render(response: &RateLimitResponse) -> Vec<u8> {
    let mut out = Vec::with_capacity(BODY_BYTES);
    json::put_text(&mut out, "{\"overallCode\":", enum_name(&CODES, response.overall_code));
    out.extend_from_slice(b",\"statuses\":");
    list(&mut out, &response.statuses, status);
    if !response.response_headers_to_add.is_empty() {
        out.extend_from_slice(b",\"responseHeadersToAdd\":");
        list(&mut out, &response.response_headers_to_add, |out, header| {
            json::put_text(out, "{\"key\":", &header.key);
            json::put_text(out, ",\"value\":", &header.value);
            out.push(b'}');
        });
    }
    if let Some(metadata) = &response.dynamic_metadata {
        out.extend_from_slice(b",\"dynamicMetadata\":");
        object(&mut out, metadata);
    }
    out.push(b'}');
    out
}

fn list<T>(out: &mut Vec<u8>, items: &[T], mut write: impl FnMut(&mut Vec<u8>, &T)) {
    let mut commas = Commas::default();
    out.push(b'[');
    for item in items {
        commas.next(out);
        write(out, item);
    }
    out.push(b']');
}

/// Name of a number; the first if it has none.
fn enum_name<'n>(names: &[&'n str], number: i32) -> &'n str {
    let index = usize::try_from(number).unwrap_or(0);
    names.get(index).unwrap_or(&names[0])
}

fn status(out: &mut Vec<u8>, status: &DescriptorStatus) {
    json::put_text(out, "{\"code\":", enum_name(&CODES, status.code));
    if let Some(RateLimit { requests_per_unit, unit, name }) = &status.current_limit {
        out.extend_from_slice(b",\"currentLimit\":");
        json::put_number(out, "{\"requestsPerUnit\":", u64::from(*requests_per_unit));
        json::put_text(out, ",\"unit\":", enum_name(&UNITS, *unit));
        json::put_text(out, ",\"name\":", name);
        out.push(b'}');
        // Also if it is 0: clients read it.
        json::put_number(out, ",\"limitRemaining\":", u64::from(status.limit_remaining));
    }
    if let Some(reset) = &status.duration_until_reset {
        out.extend_from_slice(b",\"durationUntilReset\":");
        duration(out, reset);
    }
    out.push(b'}');
}

/// Seconds, with milliseconds where there are any.
fn duration(out: &mut Vec<u8>, Duration { seconds, nanos }: &Duration) {
    let text = match nanos / 1_000_000 {
        0 => format!("\"{seconds}s\""),
        ms => format!("\"{seconds}.{ms:03}s\""),
    };
    out.extend_from_slice(text.as_bytes());
}

fn object(out: &mut Vec<u8>, Struct { fields }: &Struct) {
    let mut commas = Commas::default();
    out.push(b'{');
    for (name, field) in fields {
        commas.next(out);
        json::text(out, name);
        out.push(b':');
        value(out, field);
    }
    out.push(b'}');
}

fn value(out: &mut Vec<u8>, Value { kind }: &Value) {
    match kind {
        None | Some(Kind::NullValue(_)) => out.extend_from_slice(b"null"),
        Some(Kind::BoolValue(flag)) => out.extend_from_slice(if *flag { b"true" } else { b"false" }),
        Some(Kind::NumberValue(number)) => out.extend_from_slice(number.to_string().as_bytes()),
        Some(Kind::StringValue(text)) => json::text(out, text),
        Some(Kind::ListValue(values)) => list(out, &values.values, value),
        Some(Kind::StructValue(members)) => object(out, members),
    }
}
