//! Compiled conditions on the attributes of a request.

use ipnet::IpNet;

use super::request_view::{AttributeSource, IP, METHOD, PATH, Reading, RequestView};
use super::template::Template;
use crate::request::RequestError;

/// Conjunction of predicates. Without any it matches every request.
#[derive(Clone, Default, Debug)]
pub(super) struct Predicates(Box<[Predicate]>);

#[derive(Clone, Debug)]
pub(super) enum Predicate {
    Path(Box<[Template]>),
    /// Ignores case.
    Method {
        how: Comparison,
        texts: Box<[Box<str>]>,
    },
    Text {
        source: AttributeSource,
        how: Comparison,
        texts: Box<[Box<str>]>,
    },
    Address(Box<[IpNet]>),
}

/// Comparison of a value with a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comparison {
    Whole,
    Prefix,
}

impl Comparison {
    fn fits(self, value: &[u8], text: &str, same: impl Fn(&[u8], &[u8]) -> bool) -> bool {
        let compared = match self {
            Self::Whole => Some(value),
            Self::Prefix => value.get(..text.len()),
        };
        compared.is_some_and(|value| same(value, text.as_bytes()))
    }
}

impl Predicates {
    /// Addresses come last: an invalid address is an error only if all other predicates match.
    pub(super) fn new(mut conditions: Vec<Predicate>) -> Self {
        conditions.sort_by_key(|condition| matches!(condition, Predicate::Address(_)));
        Self(conditions.into())
    }

    /// Whether one of them reads this attribute.
    pub(super) fn reads(&self, name: &str) -> bool {
        self.0.iter().any(|condition| match condition {
            Predicate::Path(_) => name == PATH,
            Predicate::Method { .. } => name == METHOD,
            Predicate::Text { source, .. } => name == source.name(),
            Predicate::Address(_) => name == IP,
        })
    }

    /// Whether a request matches all of them by one reading, under a rule with these templates.
    #[inline(always)]
    pub(super) fn hold(
        &self,
        reading: &Reading<'_, '_, '_>,
        templates: &[Template],
    ) -> Result<bool, RequestError> {
        if self.0.is_empty() { Ok(true) } else { self.all_hold(reading, templates) }
    }

    /// Indexes of the predicates that do not match by one reading, an invalid address among them.
    pub(super) fn failed(
        &self,
        reading: &Reading<'_, '_, '_>,
        templates: &[Template],
    ) -> impl Iterator<Item = usize> {
        let fails = |condition: &Predicate| !condition.holds(reading, templates).unwrap_or(false);
        self.0.iter().enumerate().filter(move |(_, condition)| fails(condition)).map(|(index, _)| index)
    }

    fn all_hold(&self, reading: &Reading<'_, '_, '_>, templates: &[Template]) -> Result<bool, RequestError> {
        for condition in &self.0 {
            if !condition.holds(reading, templates)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether a request matches any of them by any reading: for deny lists.
#[inline]
pub(super) fn any_holds(
    list: &[Predicates],
    view: &RequestView<'_, '_>,
    templates: &[Template],
) -> Result<bool, RequestError> {
    for conditions in list {
        if view.any(|reading| conditions.hold(reading, templates))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Index of the first that a request matches by every reading: for allow lists and overrides.
#[inline]
pub(super) fn first_that_holds(
    list: &[Predicates],
    view: &RequestView<'_, '_>,
    templates: &[Template],
) -> Result<Option<usize>, RequestError> {
    if list.is_empty() {
        return Ok(None);
    }
    for (index, conditions) in list.iter().enumerate() {
        if view.every(|reading| conditions.hold(reading, templates))? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

impl Predicate {
    fn holds(&self, reading: &Reading<'_, '_, '_>, templates: &[Template]) -> Result<bool, RequestError> {
        Ok(match self {
            Self::Path(of) => reading.path.is_some_and(|path| of.iter().any(|one| one.matches(path))),
            Self::Method { how, texts } => AttributeSource::Method.sent(reading.view).is_some_and(|value| {
                texts.iter().any(|text| how.fits(&value, text, <[u8]>::eq_ignore_ascii_case))
            }),
            Self::Text { source, how, texts } => source.value(reading, templates).is_some_and(|value| {
                texts.iter().any(|text| how.fits(&value, text, |value, text| value == text))
            }),
            Self::Address(nets) => reading
                .view
                .address()?
                .is_some_and(|(_, address)| nets.iter().any(|net| net.contains(&address))),
        })
    }
}
