//! Trace context of a request: `traceparent` of W3C.

use hyper::HeaderMap;
use hyper::header::HeaderName;

const PARENT: HeaderName = HeaderName::from_static("traceparent");
const STATE: HeaderName = HeaderName::from_static("tracestate");
/// Maximum length of a trace state. A longer one is dropped, as W3C allows.
const MAX_STATE_BYTES: usize = 512;
/// Length of version 0: 2, 32, 16 and 2 digits, separated by dashes.
const PARENT_BYTES: usize = 55;

/// Parent span of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Parent {
    pub(super) trace_id: [u8; 16],
    pub(super) span_id: [u8; 8],
    /// Whether the caller sampled it.
    pub(super) sampled: bool,
}

/// Parent in the headers, if it is valid.
pub(super) fn parent(headers: &HeaderMap) -> Option<Parent> {
    let mut values = headers.get_all(PARENT).iter();
    let first = values.next()?;
    // Two of them are invalid.
    if values.next().is_some() {
        return None;
    }
    read(first.as_bytes())
}

fn read(text: &[u8]) -> Option<Parent> {
    let (head, more) = text.split_at_checked(PARENT_BYTES)?;
    let version: [u8; 1] = hex(&head[..2])?;
    // Later versions may have more fields, after another dash.
    let fits = match version {
        [0] => more.is_empty(),
        [0xff] => false,
        _ => more.is_empty() || more[0] == b'-',
    };
    let dashes = [2, 35, 52].iter().all(|at| head[*at] == b'-');
    let trace_id: [u8; 16] = hex(&head[3..35])?;
    let span_id: [u8; 8] = hex(&head[36..52])?;
    let [flags] = hex(&head[53..])?;
    let has_ids = trace_id != [0; 16] && span_id != [0; 8];
    (fits && dashes && has_ids).then_some(Parent { trace_id, span_id, sampled: flags & 1 == 1 })
}

/// Bytes of hexadecimal digits in lower case; capitals are invalid.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

/// Trace state of the parent.
pub(super) fn state(headers: &HeaderMap) -> String {
    let mut all = String::new();
    for value in headers.get_all(STATE) {
        let Ok(text) = value.to_str() else { return String::new() };
        if !all.is_empty() {
            all.push(',');
        }
        all.push_str(text);
        if all.len() > MAX_STATE_BYTES {
            return String::new();
        }
    }
    all
}

#[cfg(test)]
mod tests;
