//! Id of a request, in every response: the client's own if it sent one, else a new one.

use std::sync::atomic::{AtomicU64, Ordering};

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const MAX_BYTES: usize = 128;
const PREFIX_DIGITS: usize = 16;

/// Generator of ids for the requests of one connection: a random prefix and a count.
pub(crate) struct RequestIds {
    prefix: [u8; PREFIX_DIGITS],
    count: AtomicU64,
}

impl RequestIds {
    /// `seed` differs between connections.
    pub(crate) fn new(seed: u64) -> Self {
        let mut prefix = [0; PREFIX_DIGITS];
        for (at, digit) in prefix.iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[(seed >> (60 - 4 * at)) as usize & 15];
        }
        Self { prefix, count: AtomicU64::new(0) }
    }

    /// Id of the request, if it has a valid one, or the next.
    pub(crate) fn of(&self, headers: &HeaderMap) -> HeaderValue {
        from_headers(headers).unwrap_or_else(|| self.next())
    }

    pub(crate) fn next(&self) -> HeaderValue {
        let mut count = itoa::Buffer::new();
        let count = count.format(self.count.fetch_add(1, Ordering::Relaxed)).as_bytes();
        let mut id = [b'-'; PREFIX_DIGITS + 21];
        let end = PREFIX_DIGITS + 1 + count.len();
        id[..PREFIX_DIGITS].copy_from_slice(&self.prefix);
        id[PREFIX_DIGITS + 1..end].copy_from_slice(count);
        HeaderValue::from_bytes(&id[..end]).expect("hexadecimal digits and a hyphen are a header value")
    }
}

/// Id as text, for logs.
pub(crate) fn text(id: &HeaderValue) -> &str {
    id.to_str().unwrap_or_default()
}

/// Id in the headers, if it is valid.
pub(crate) fn from_headers(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(X_REQUEST_ID).filter(|id| is_id(id.as_bytes())).cloned()
}

/// Whether an id is safe in a log.
fn is_id(id: &[u8]) -> bool {
    (1..=MAX_BYTES).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_for(value: &[u8]) -> HeaderValue {
        let mut headers = HeaderMap::new();
        headers.insert(X_REQUEST_ID, HeaderValue::from_bytes(value).expect("a header value"));
        RequestIds::new(0x0123_4567_89ab_cdef).of(&headers)
    }

    #[test]
    fn a_sane_id_comes_back() {
        for id in [&b"a"[..], b"1c0ffee-77/x", &[b'x'; 128]] {
            assert_eq!(id_for(id).as_bytes(), id);
        }
    }

    #[test]
    fn anything_else_gets_a_new_one() {
        for id in [&b""[..], b"two words", "na\u{ef}ve".as_bytes(), &[b'x'; 129]] {
            assert_eq!(id_for(id), "0123456789abcdef-0");
        }
    }

    #[test]
    fn ids_differ() {
        let ids = RequestIds::new(u64::MAX);
        let none = HeaderMap::new();
        assert_eq!(ids.of(&none), "ffffffffffffffff-0");
        assert_eq!(ids.of(&none), "ffffffffffffffff-1");
    }
}
