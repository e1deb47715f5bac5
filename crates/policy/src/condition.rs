//! What a request has to be like for a rule, an override or a list to be meant for it.

use ipnet::IpNet;

use super::request_view::{IP, METHOD, PATH, Reading, RequestView, Source};
use super::template::Template;
use crate::request::RequestError;

/// All have to hold; none at all hold for everything.
#[derive(Clone, Default, Debug)]
pub(super) struct Predicates(Box<[Predicate]>);

#[derive(Clone, Debug)]
pub(super) enum Predicate {
    Path(Box<[Template]>),
    /// Upper and lower case are the same.
    Method {
        how: Comparison,
        texts: Box<[Box<str>]>,
    },
    Text {
        source: Source,
        how: Comparison,
        texts: Box<[Box<str>]>,
    },
    Address(Box<[IpNet]>),
}

/// Comparison a value is compared with a text.
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
    /// Addresses come last: what is no address is an error only where nothing else keeps the rule from looking.
    pub(super) fn new(mut conditions: Vec<Predicate>) -> Self {
        conditions.sort_by_key(|condition| matches!(condition, Predicate::Address(_)));
        Self(conditions.into())
    }

    /// Whether one of them looks at this attribute.
    pub(super) fn reads(&self, name: &str) -> bool {
        self.0.iter().any(|condition| match condition {
            Predicate::Path(_) => name == PATH,
            Predicate::Method { .. } => name == METHOD,
            Predicate::Text { source, .. } => name == source.name(),
            Predicate::Address(_) => name == IP,
        })
    }

    /// Whether a request meets all of them by one reading, under a rule with these templates.
    #[inline(always)]
    pub(super) fn hold(
        &self,
        reading: &Reading<'_, '_, '_>,
        templates: &[Template],
    ) -> Result<bool, RequestError> {
        if self.0.is_empty() { Ok(true) } else { self.all_hold(reading, templates) }
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

/// For what denies: whether a request meets any of them by any reading.
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

/// For what exempts or selects: the index of the first that a request meets by every reading.
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
            Self::Method { how, texts } => Source::Method.sent(reading.view).is_some_and(|value| {
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
