//! What is asked, free of any protocol: attributes, and a cost.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::MAX_READINGS;

/// The most attributes of one request.
pub const MAX_ATTRIBUTES: usize = 64;
/// The longest name of an attribute.
pub const MAX_NAME_BYTES: usize = 128;
/// The longest value of an attribute.
pub const MAX_VALUE_BYTES: usize = 4096;

/// A name or a value, borrowed where it can be.
type Text<'a> = Cow<'a, str>;

/// What is asked: attributes such as `method`, `path`, `ip`, `user`, and a cost.
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
    attributes: SmallVec<[(Text<'a>, Text<'a>); 8]>,
    cost: u64,
    id: Option<&'a str>,
    skips_incomplete: bool,
}

impl Default for Request<'_> {
    fn default() -> Self {
        Self { attributes: SmallVec::new(), cost: 1, id: None, skips_incomplete: false }
    }
}

impl<'a> Request<'a> {
    /// A request without attributes, at a cost of 1.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same request with another attribute. Of two of one name, the first is found.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Cow<'a, str>>) -> Self {
        self.set(name, value);
        self
    }

    /// Adds an attribute. Of two of one name, the first is found.
    pub fn set(&mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Cow<'a, str>>) {
        self.attributes.push((name.into(), value.into()));
    }

    /// The same request at another cost; 0 only looks.
    #[must_use]
    pub fn cost(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// Another cost; 0 only looks.
    #[inline]
    pub fn set_cost(&mut self, cost: u64) {
        self.cost = cost;
    }

    /// The same request under the id that its sender knows it by. No rule looks at it: it is only told of, in logs.
    #[must_use]
    pub fn with_id(self, id: &'a str) -> Self {
        Self { id: Some(id), ..self }
    }

    /// The id that its sender knows it by.
    pub fn set_id(&mut self, id: &'a str) {
        self.id = Some(id);
    }

    /// The id that its sender knows it by.
    #[inline]
    pub fn id(&self) -> Option<&'a str> {
        self.id
    }

    /// The same request with another default for `missing`: a rule whose key it does not fill is skipped, unless the rule says what
    /// happens then. For requests whose attributes operators choose, as Envoy's descriptors are.
    #[must_use]
    pub fn skip_incomplete(self) -> Self {
        Self { skips_incomplete: true, ..self }
    }

    /// Whether rules are skipped by default whose key it does not fill.
    pub(crate) fn skips_incomplete(&self) -> bool {
        self.skips_incomplete
    }

    /// The value of an attribute.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The units asked for.
    #[inline]
    pub fn requested_cost(&self) -> u64 {
        self.cost
    }

    /// Its attributes, in the order in which they were added.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Whether it is within the bounds on attributes; for requests that come from outside.
    pub fn check(&self) -> Result<(), RequestError> {
        let attributes = self.attributes.len();
        if attributes > MAX_ATTRIBUTES {
            return Err(RequestError::TooManyAttributes { attributes });
        }
        for (name, value) in self.attributes() {
            if name.is_empty() {
                return Err(RequestError::EmptyName);
            }
            if name.len() > MAX_NAME_BYTES {
                return Err(RequestError::NameTooLong { bytes: name.len() });
            }
            if value.len() > MAX_VALUE_BYTES {
                return Err(RequestError::ValueTooLong { attribute: name.to_owned(), bytes: value.len() });
            }
        }
        Ok(())
    }
}

/// What is wrong with a request: its sender has to change it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A rule that applies looks at an address, and this is none.
    #[error("the attribute `{attribute}` has to be an IPv4 or IPv6 address, and `{value}` is none")]
    NotAnAddress {
        /// The attribute.
        attribute: String,
        /// What it is.
        value: String,
    },
    /// The rules that apply have more limits than one request may touch.
    #[error("{limits} limits apply to this request, and at most {most} can", most = slidegate_store::MAX_LIMITS)]
    TooManyLimits {
        /// How many apply.
        limits: usize,
    },
    /// Servers could read the path in more ways than are looked at, or in fewer, but it is too long for as many.
    #[error(
        "the path can be read in more than {MAX_READINGS} ways, or is too long for as many as it has: use fewer of `;`, `\\`, `#`, dots, doubled slashes and escapes"
    )]
    TooManyReadings,
    /// A rule counts by a part of the path, or has tighter limits for some paths, and servers could read this one differently.
    #[error(
        "the path names different subjects of the rule `{rule}` or different limits, depending on who reads it: use fewer of `;`, `\\`, dots, doubled slashes and escapes"
    )]
    AmbiguousPath {
        /// The rule.
        rule: String,
    },
    /// More attributes than [`MAX_ATTRIBUTES`].
    #[error("a request has at most {MAX_ATTRIBUTES} attributes, not {attributes}")]
    TooManyAttributes {
        /// How many it has.
        attributes: usize,
    },
    /// An attribute without a name.
    #[error("the name of an attribute is empty")]
    EmptyName,
    /// A name longer than [`MAX_NAME_BYTES`].
    #[error("the name of an attribute has at most {MAX_NAME_BYTES} bytes, not {bytes}")]
    NameTooLong {
        /// How long it is.
        bytes: usize,
    },
    /// A value longer than [`MAX_VALUE_BYTES`].
    #[error("the value of `{attribute}` has at most {MAX_VALUE_BYTES} bytes, not {bytes}")]
    ValueTooLong {
        /// The attribute.
        attribute: String,
        /// How long it is.
        bytes: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_kept() {
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

    #[test]
    fn the_first_of_a_name_is_found() {
        let request = Request::new().with("user", "alice").with("user", "bob").with("User", "eve");
        assert_eq!((request.get("user"), request.get("USER")), (Some("alice"), None));
        assert_eq!(request.requested_cost(), 1);
    }
}
