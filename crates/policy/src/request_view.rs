//! View of a request for matching: attributes, the readings of its path, its canonical address.

use std::borrow::Cow;
use std::cell::Cell;
use std::net::IpAddr;

use super::address;
use super::path::{Path, PathView};
use super::path_readings::{PathRules, Readings, with_percent_signs};
use super::template::Template;
use crate::request::{Request, RequestError};

/// Built-in attributes.
pub(super) const METHOD: &str = "method";
pub(super) const PATH: &str = "path";
pub(super) const IP: &str = "ip";
pub(super) const TIER: &str = "tier";

/// View of a request for matching.
pub(super) struct RequestView<'r, 'a> {
    request: &'r Request<'a>,
    readings: Readings<'r>,
    /// Canonical address, once it was parsed, or if the request has it.
    address: Cell<Option<IpAddr>>,
}

impl<'r, 'a> RequestView<'r, 'a> {
    #[inline(always)]
    pub(super) fn new(request: &'r Request<'a>, rules: PathRules) -> Result<Self, RequestError> {
        let readings = match request.get(PATH) {
            Some(path) => Readings::new(path, rules)?,
            None => Readings::NONE,
        };
        Ok(Self { request, readings, address: Cell::new(request.address()) })
    }

    /// Request by the first reading of its path.
    #[inline]
    pub(super) fn first(&self) -> Reading<'_, 'r, 'a> {
        Reading { view: self, path: self.readings.first().map(Path::view) }
    }

    /// Whether all servers read the path alike.
    #[inline]
    pub(super) fn is_single(&self) -> bool {
        self.readings.is_single()
    }

    /// Request by each reading of its path. Without a path there is one.
    pub(super) fn readings(&self) -> impl Iterator<Item = Reading<'_, 'r, 'a>> {
        let others = self.readings.all().skip(1);
        let others = others.map(|path| Reading { view: self, path: Some(path.view()) });
        std::iter::once(self.first()).chain(others)
    }

    /// Whether a condition matches by at least one reading: for what limits or denies.
    #[inline(always)]
    pub(super) fn any(
        &self,
        mut holds: impl FnMut(&Reading<'_, 'r, 'a>) -> Result<bool, RequestError>,
    ) -> Result<bool, RequestError> {
        if holds(&self.first())? {
            return Ok(true);
        }
        if self.is_single() {
            return Ok(false);
        }
        for reading in self.readings().skip(1) {
            if holds(&reading)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a condition matches by all readings, including those without the slash at the end:
    /// for what exempts or selects.
    #[inline(always)]
    pub(super) fn every(
        &self,
        mut holds: impl FnMut(&Reading<'_, 'r, 'a>) -> Result<bool, RequestError>,
    ) -> Result<bool, RequestError> {
        let path = self.readings.first().map(Path::view_without_slash);
        if !holds(&Reading { view: self, path })? {
            return Ok(false);
        }
        if self.is_single() {
            return Ok(true);
        }
        for path in self.readings.all().skip(1) {
            if !holds(&Reading { view: self, path: Some(path.view_without_slash()) })? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether rules whose key the request does not fill are skipped by default.
    pub(super) fn skips_incomplete(&self) -> bool {
        self.request.skips_incomplete()
    }

    #[inline]
    pub(super) fn text(&self, attribute: &str) -> Option<&'r str> {
        self.request.get(attribute)
    }

    /// Address of the client, if it has one. An invalid address is an error only if a rule reads
    /// it.
    #[inline(always)]
    pub(super) fn address(&self) -> Result<Option<(&'r str, IpAddr)>, RequestError> {
        let Some(text) = self.text(IP).filter(|text| !text.is_empty()) else { return Ok(None) };
        let parsed = self.address.get().or_else(|| address::parse(text));
        self.address.set(parsed);
        parsed.map(|address| Some((text, address))).ok_or_else(|| not_an_address(text))
    }
}

/// Request by one reading of its path.
#[derive(Clone, Copy)]
pub(super) struct Reading<'v, 'r, 'a> {
    pub(super) view: &'v RequestView<'r, 'a>,
    pub(super) path: Option<PathView<'v, 'r>>,
}

#[cold]
fn not_an_address(text: &str) -> RequestError {
    RequestError::NotAnAddress { attribute: IP.to_owned(), value: text.to_owned() }
}

/// Source of a value: an attribute or a path parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum AttributeSource {
    Attribute(Box<str>),
    /// Path parameter, or the attribute of this name if the path does not have it.
    Parameter(Box<str>),
    Method,
    Path,
    Ip,
}

impl AttributeSource {
    pub(super) fn new(name: &str, templates: &[Template]) -> Self {
        let is_parameter =
            || templates.iter().any(|template| template.parameters().any(|parameter| parameter == name));
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

    /// Value as it was sent; of a parameter as it is read.
    pub(super) fn value<'r>(
        &self,
        reading: &Reading<'_, 'r, '_>,
        templates: &[Template],
    ) -> Option<Cow<'r, [u8]>> {
        let captured = self.captured(reading, templates).map(|part| match part {
            // Nothing is escaped in a path that is borrowed.
            Cow::Borrowed(_) => part,
            Cow::Owned(part) => Cow::Owned(with_percent_signs(&part)),
        });
        captured.or_else(|| self.sent(reading.view))
    }

    /// Value in the path, if it is a parameter.
    #[inline]
    pub(super) fn captured<'r>(
        &self,
        reading: &Reading<'_, 'r, '_>,
        templates: &[Template],
    ) -> Option<Cow<'r, [u8]>> {
        match (self, reading.path) {
            (Self::Parameter(name), Some(path)) => {
                templates.iter().find_map(|template| template.capture(path, name))
            }
            _ => None,
        }
    }

    /// Attribute of its name.
    pub(super) fn sent<'r>(&self, view: &RequestView<'r, '_>) -> Option<Cow<'r, [u8]>> {
        view.text(self.name()).map(|text| Cow::Borrowed(text.as_bytes()))
    }
}
