//! Request to a policy, independent of any protocol: attributes and a cost.

use std::borrow::Cow;
use std::net::IpAddr;

use smallvec::SmallVec;

use crate::MAX_READINGS;
use crate::address::RequestAddress;
use crate::request_view::IP;

/// Maximum number of attributes of a request.
pub const MAX_ATTRIBUTES: usize = 64;
/// Maximum length of an attribute name.
pub const MAX_NAME_BYTES: usize = 128;
/// Maximum length of an attribute value.
pub const MAX_VALUE_BYTES: usize = 4096;

/// Name or value, borrowed if possible.
type CowText<'a> = Cow<'a, str>;

/// Request to a policy: attributes such as `method`, `path`, `ip`, `user`, and a cost.
///
/// ```
/// use slidegate::Request;
///
/// let request = Request::new().with("path", "/login").with("ip", "203.0.113.7").cost(2);
/// assert_eq!(request.get("path"), Some("/login"));
/// assert_eq!(request.requested_cost(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Request<'a> {
    attributes: SmallVec<[(CowText<'a>, CowText<'a>); 8]>,
    cost: u64,
    id: Option<&'a str>,
    skips_incomplete: bool,
    /// Value of `ip`, if it was set as an address.
    address: Option<IpAddr>,
}

impl Default for Request<'_> {
    fn default() -> Self {
        Self { attributes: SmallVec::new(), cost: 1, id: None, skips_incomplete: false, address: None }
    }
}

impl<'a> Request<'a> {
    /// Request without attributes, with a cost of 1.
    pub fn new() -> Self {
        Self::default()
    }

    /// Request with a further attribute. If a name occurs twice, the first value applies.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Cow<'a, str>>) -> Self {
        self.set(name, value);
        self
    }

    /// Adds an attribute. If a name occurs twice, the first value applies.
    pub fn set(&mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Cow<'a, str>>) {
        self.attributes.push((name.into(), value.into()));
    }

    /// Adds the attribute `ip`, as [`Request::set`] does. Rules that read it need not parse the text.
    #[inline]
    pub fn set_address(&mut self, address: &'a RequestAddress) {
        if self.get(IP).is_none() {
            self.address = Some(address.address());
        }
        self.attributes.push((Cow::Borrowed(IP), Cow::Borrowed(address.as_str())));
    }

    /// Value of the attribute `ip`, if it was set as an address.
    #[inline]
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Request with another cost. A cost of 0 peeks: it charges nothing.
    #[must_use]
    pub fn cost(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// Sets the cost. A cost of 0 peeks: it charges nothing.
    #[inline]
    pub fn set_cost(&mut self, cost: u64) {
        self.cost = cost;
    }

    /// Request with the ID of its sender, for logs. Rules do not read it.
    #[must_use]
    pub fn with_id(self, id: &'a str) -> Self {
        Self { id: Some(id), ..self }
    }

    /// Sets the ID of the sender.
    pub fn set_id(&mut self, id: &'a str) {
        self.id = Some(id);
    }

    /// ID that the sender gave the request.
    #[inline]
    pub fn id(&self) -> Option<&'a str> {
        self.id
    }

    /// Request with another default for `missing`: rules whose key it does not fill are skipped,
    /// unless they have `missing`. For requests whose attributes operators choose, such as
    /// descriptors of Envoy.
    #[must_use]
    pub fn skip_incomplete(self) -> Self {
        Self { skips_incomplete: true, ..self }
    }

    /// Whether rules whose key it does not fill are skipped by default.
    pub(crate) fn skips_incomplete(&self) -> bool {
        self.skips_incomplete
    }

    /// Value of an attribute.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// Cost in units.
    #[inline]
    pub fn requested_cost(&self) -> u64 {
        self.cost
    }

    /// Whether it has no attributes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }

    /// Attributes in the order in which they were added.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Checks the bounds on attributes, for requests from outside.
    #[inline]
    pub fn check(&self) -> Result<(), RequestError> {
        let attributes = self.attributes.len();
        if attributes > MAX_ATTRIBUTES {
            return Err(RequestError::TooManyAttributes { attributes });
        }
        for (name, value) in self.attributes() {
            if name.is_empty() || name.len() > MAX_NAME_BYTES || value.len() > MAX_VALUE_BYTES {
                return Err(out_of_bounds(name, value));
            }
        }
        Ok(())
    }
}

/// Error in an attribute whose name or value is too short or too long.
#[cold]
fn out_of_bounds(name: &str, value: &str) -> RequestError {
    match name.len() {
        0 => RequestError::EmptyName,
        bytes if bytes > MAX_NAME_BYTES => RequestError::NameTooLong { bytes },
        _ => RequestError::ValueTooLong { attribute: name.to_owned(), bytes: value.len() },
    }
}

/// Error in a request, which its sender has to fix.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A rule that applies reads an address, and the value is not one.
    #[error("invalid IP address `{value}` in the attribute `{attribute}`")]
    NotAnAddress {
        /// Name of the attribute.
        attribute: String,
        /// Its value.
        value: String,
    },
    /// The rules that apply have more limits than one request may use.
    #[error("too many limits apply to this request: {limits}, the maximum is {max}", max = slidegate_store::MAX_LIMITS)]
    TooManyLimits {
        /// Number of limits.
        limits: usize,
    },
    /// The path has too many readings, or is too long for the number of its readings.
    #[error(
        "ambiguous path: more than {MAX_READINGS} readings, or too long for the number of its readings; use fewer of `;`, `\\`, `#`, dots, double slashes and escapes"
    )]
    TooManyReadings,
    /// Readings of the path give different subjects or different limits.
    #[error(
        "ambiguous path: its readings give different subjects or limits of the rule `{rule}`; use fewer of `;`, `\\`, dots, double slashes and escapes"
    )]
    AmbiguousPath {
        /// Name of the rule.
        rule: String,
    },
    /// More attributes than [`MAX_ATTRIBUTES`].
    #[error("too many attributes: {attributes}, the maximum is {MAX_ATTRIBUTES}")]
    TooManyAttributes {
        /// Number of attributes.
        attributes: usize,
    },
    /// Attribute without a name.
    #[error("empty attribute name")]
    EmptyName,
    /// A name longer than [`MAX_NAME_BYTES`].
    #[error("attribute name too long: {bytes} bytes, the maximum is {MAX_NAME_BYTES}")]
    NameTooLong {
        /// Length.
        bytes: usize,
    },
    /// A value longer than [`MAX_VALUE_BYTES`].
    #[error("value of `{attribute}` too long: {bytes} bytes, the maximum is {MAX_VALUE_BYTES}")]
    ValueTooLong {
        /// Name of the attribute.
        attribute: String,
        /// Length.
        bytes: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold() {
        let long = |bytes: usize| "x".repeat(bytes);
        let most = (0..MAX_ATTRIBUTES).fold(Request::new(), |request, n| request.with(n.to_string(), ""));
        assert_eq!(most.check(), Ok(()));
        let attributes = MAX_ATTRIBUTES + 1;
        assert_eq!(most.with("one more", "").check(), Err(RequestError::TooManyAttributes { attributes }));

        let largest = Request::new().with(long(MAX_NAME_BYTES), long(MAX_VALUE_BYTES));
        assert_eq!(largest.check(), Ok(()));
        let name = Request::new().with(long(MAX_NAME_BYTES + 1), "");
        assert_eq!(name.check(), Err(RequestError::NameTooLong { bytes: MAX_NAME_BYTES + 1 }));
        let value = Request::new().with("a", long(MAX_VALUE_BYTES + 1));
        let too_long = RequestError::ValueTooLong { attribute: "a".to_owned(), bytes: MAX_VALUE_BYTES + 1 };
        assert_eq!(value.check(), Err(too_long));
        assert_eq!(Request::new().with("", "a").check(), Err(RequestError::EmptyName));
    }

    /// Of two attributes `ip` the first counts, whichever of them is an address.
    #[test]
    fn an_address_is_the_value_of_ip() {
        let mapped = RequestAddress::new("::ffff:192.0.2.1".parse().expect("an address"));
        let mut request = Request::new();
        request.set_address(&mapped);
        assert_eq!((request.get("ip"), request.address()), (Some("192.0.2.1"), Some(mapped.address())));
        let mut request = Request::new().with("ip", "192.0.2.2");
        request.set_address(&mapped);
        assert_eq!((request.get("ip"), request.address()), (Some("192.0.2.2"), None));
    }

    #[test]
    fn the_first_of_a_name_is_found() {
        let request = Request::new().with("user", "alice").with("user", "bob").with("User", "eve");
        assert_eq!((request.get("user"), request.get("USER")), (Some("alice"), None));
        assert_eq!(request.requested_cost(), 1);
    }
}
