//! What a request has to be like for a rule, an override or a list to be meant for it.

use ipnet::IpNet;

use super::request_view::{Asked, IP, METHOD, PATH, Reading, Source};
use super::template::Template;
use crate::request::RequestError;

/// All have to hold; none at all hold for everything.
#[derive(Clone, Default, Debug)]
pub(super) struct Conditions(Box<[Condition]>);

#[derive(Clone, Debug)]
pub(super) enum Condition {
    Path(Box<[Template]>),
    /// Upper and lower case are the same.
    Method {
        how: How,
        texts: Box<[Box<str>]>,
    },
    Text {
        source: Source,
        how: How,
        texts: Box<[Box<str>]>,
    },
    Address(Box<[IpNet]>),
}

/// How a value is compared with a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    Whole,
    Prefix,
}

impl How {
    fn fits(self, value: &[u8], text: &str, same: impl Fn(&[u8], &[u8]) -> bool) -> bool {
        let compared = match self {
            Self::Whole => Some(value),
            Self::Prefix => value.get(..text.len()),
        };
        compared.is_some_and(|value| same(value, text.as_bytes()))
    }
}

impl Conditions {
    /// Addresses come last: what is no address is an error only where nothing else keeps the rule from looking.
    pub(super) fn new(mut conditions: Vec<Condition>) -> Self {
        conditions.sort_by_key(|condition| matches!(condition, Condition::Address(_)));
        Self(conditions.into())
    }

    /// Whether one of them looks at this attribute.
    pub(super) fn reads(&self, name: &str) -> bool {
        self.0.iter().any(|condition| match condition {
            Condition::Path(_) => name == PATH,
            Condition::Method { .. } => name == METHOD,
            Condition::Text { source, .. } => name == source.name(),
            Condition::Address(_) => name == IP,
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
    list: &[Conditions],
    asked: &Asked<'_, '_>,
    templates: &[Template],
) -> Result<bool, RequestError> {
    for conditions in list {
        if asked.any(|reading| conditions.hold(reading, templates))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// For what exempts or selects: the index of the first that a request meets by every reading.
#[inline]
pub(super) fn first_that_holds(
    list: &[Conditions],
    asked: &Asked<'_, '_>,
    templates: &[Template],
) -> Result<Option<usize>, RequestError> {
    if list.is_empty() {
        return Ok(None);
    }
    for (index, conditions) in list.iter().enumerate() {
        if asked.every(|reading| conditions.hold(reading, templates))? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

impl Condition {
    fn holds(&self, reading: &Reading<'_, '_, '_>, templates: &[Template]) -> Result<bool, RequestError> {
        Ok(match self {
            Self::Path(of) => reading.path.is_some_and(|path| of.iter().any(|one| one.matches(path))),
            Self::Method { how, texts } => Source::Method.sent(reading.asked).is_some_and(|value| {
                texts.iter().any(|text| how.fits(&value, text, <[u8]>::eq_ignore_ascii_case))
            }),
            Self::Text { source, how, texts } => source.value(reading, templates).is_some_and(|value| {
                texts.iter().any(|text| how.fits(&value, text, |value, text| value == text))
            }),
            Self::Address(nets) => reading
                .asked
                .address()?
                .is_some_and(|(_, address)| nets.iter().any(|net| net.contains(&address))),
        })
    }
}
