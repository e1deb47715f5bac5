//! A request as rules look at it: attributes, the path as it is read, the address folded.

use std::borrow::Cow;
use std::cell::Cell;
use std::net::IpAddr;

use super::address;
use super::path::Path;
use super::template::Template;
use crate::request::{Request, RequestError};

/// The attributes with a meaning of their own.
pub(super) const METHOD: &str = "method";
pub(super) const PATH: &str = "path";
pub(super) const IP: &str = "ip";
pub(super) const TIER: &str = "tier";

pub(super) struct Asked<'r, 'a> {
    request: &'r Request<'a>,
    path: Option<Path<'r>>,
    /// Once it was looked at.
    address: Cell<Option<IpAddr>>,
}

impl<'r, 'a> Asked<'r, 'a> {
    #[inline]
    pub(super) fn new(request: &'r Request<'a>) -> Self {
        let path = request.get(PATH).map(Path::read);
        Self { request, path, address: Cell::new(None) }
    }

    #[inline]
    pub(super) fn path(&self) -> Option<&Path<'r>> {
        self.path.as_ref()
    }

    /// Whether rules are skipped by default whose key the request does not fill.
    pub(super) fn skips_incomplete(&self) -> bool {
        self.request.skips_incomplete()
    }

    #[inline]
    pub(super) fn text(&self, attribute: &str) -> Option<&'r str> {
        self.request.get(attribute)
    }

    /// The client's address, if it has one. Only what is looked at has to be one.
    #[inline(always)]
    pub(super) fn address(&self) -> Result<Option<(&'r str, IpAddr)>, RequestError> {
        let Some(text) = self.text(IP).filter(|text| !text.is_empty()) else { return Ok(None) };
        let known = self.address.get().or_else(|| address::parse(text));
        self.address.set(known);
        known.map(|address| Some((text, address))).ok_or_else(|| not_an_address(text))
    }
}

#[cold]
fn not_an_address(text: &str) -> RequestError {
    RequestError::NotAnAddress { attribute: IP.to_owned(), value: text.to_owned() }
}

/// Where a rule finds a value: among the attributes, or in the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Attribute(Box<str>),
    /// Of a template of the rule; an attribute of this name where the path does not have it.
    Parameter(Box<str>),
    Method,
    Path,
    Ip,
}

impl Source {
    pub(super) fn new(name: &str, templates: &[Template]) -> Self {
        let is_parameter =
            || templates.iter().any(|template| template.parameters().any(|known| known == name));
        match name {
            METHOD => Self::Method,
            PATH => Self::Path,
            IP => Self::Ip,
            _ if is_parameter() => Self::Parameter(name.into()),
            _ => Self::Attribute(name.into()),
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Attribute(name) | Self::Parameter(name) => name,
            Self::Method => METHOD,
            Self::Path => PATH,
            Self::Ip => IP,
        }
    }

    /// The value as it was sent; of a parameter, as it is read.
    pub(super) fn value<'r>(&self, asked: &Asked<'r, '_>, templates: &[Template]) -> Option<Cow<'r, [u8]>> {
        let captured = match (self, asked.path()) {
            (Self::Parameter(name), Some(path)) => {
                templates.iter().find_map(|template| template.capture(path, name))
            }
            _ => None,
        };
        captured.or_else(|| asked.text(self.name()).map(|text| Cow::Borrowed(text.as_bytes())))
    }
}
