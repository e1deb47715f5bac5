//! Header fields of an answer as typed values.

use ::http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use smallvec::SmallVec;

use crate::gate::Answer;
use crate::headers::Headers;

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATE: HeaderName = HeaderName::from_static("ratelimit");
const X_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Header fields of an answer.
#[derive(Clone, Default, Debug)]
pub struct HeaderFields(SmallVec<[(HeaderName, HeaderValue); 3]>);

impl HeaderFields {
    /// Puts the fields into a map. The lists of `RateLimit-Policy` and `RateLimit` are extended, so
    /// that several layers report all of their limits; the other fields are replaced.
    pub fn put_into(self, headers: &mut HeaderMap) {
        for (name, value) in self.0 {
            if name == POLICY || name == STATE {
                headers.append(name, value);
            } else {
                headers.insert(name, value);
            }
        }
    }
}

impl Headers {
    /// Header fields of an answer. `random` is called only where `Retry-After` is spread.
    pub fn fields(&self, answer: &Answer, random: impl FnOnce() -> u64) -> HeaderFields {
        let mut fields = SmallVec::new();
        self.write(answer, random, |name, value| {
            let value = HeaderValue::from_str(value).expect("names of limits are printable ASCII");
            fields.push((header_name(name), value));
        });
        HeaderFields(fields)
    }
}

/// Name of a field. The usual ones are constants: to make one hashes it.
fn header_name(name: &'static str) -> HeaderName {
    match name {
        "ratelimit-policy" => POLICY,
        "ratelimit" => STATE,
        "retry-after" => RETRY_AFTER,
        "x-ratelimit-limit" => X_LIMIT,
        "x-ratelimit-remaining" => X_REMAINING,
        "x-ratelimit-reset" => X_RESET,
        _ => HeaderName::from_static(name),
    }
}
