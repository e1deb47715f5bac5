//! Subject of a request: the key that a rule charges it to.
//!
//! No two subjects share a key. A value that is missing is written as an empty text, which no value
//! is, since an empty one counts as missing. Which alternative of `api_key|ip` was taken is part of
//! the key: whoever sends somebody's address as an API key does not become that subject.
//!
//! A key of one part is the value of its first alternative as it is, so that most requests are
//! counted under a text that is only borrowed. Everything else is written in parts, which is
//! another form: there alternatives are preceded by their name.

use std::borrow::Cow;
use std::fmt;

use smallvec::SmallVec;

use super::address;
use super::path_readings::canonical;
use super::request_view::{AttributeSource, Reading, RequestView};
use super::template::Template;
use crate::request::RequestError;
use slidegate_store::{Key, KeyEncoding};

/// Parts of the key of a rule.
#[derive(Clone, Default, Debug)]
pub(super) struct KeyParts {
    pub(super) parts: Box<[KeyPart]>,
    pub(super) ipv6_prefix: u8,
}

/// Part of a key: alternative attributes, of which the first that a request has is used.
#[derive(Clone, Debug)]
pub(super) struct KeyPart {
    pub(super) alternatives: Box<[AttributeSource]>,
}

/// Subject of a request.
pub(super) struct RequestSubject<'r> {
    pub(super) key: Key<'r>,
    pub(super) coverage: KeyCoverage,
    /// Whether all readings of the path give the same one.
    pub(super) agrees: bool,
}

/// Part of a key as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyText {
    /// Attribute that was used; all alternatives, as in `api_key|ip`, if the request has none of
    /// them.
    pub attribute: String,
    /// Value in its canonical form.
    pub value: Option<String>,
}

/// Whether the request has all attributes of the key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KeyCoverage {
    All,
    /// By some readings of its path, one of which gives the key.
    InSome,
    NotAll,
}

impl<'r> RequestSubject<'r> {
    fn new(key: Key<'r>, coverage: KeyCoverage) -> Self {
        Self { key, coverage, agrees: true }
    }
}

/// Form in the file: `api_key|ip`.
impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.alternatives.iter().map(AttributeSource::name);
        f.write_str(&names.collect::<Vec<_>>().join("|"))
    }
}

/// Index of an alternative and its value.
type KeyAlternative<'r> = Option<(usize, Cow<'r, [u8]>)>;

impl KeyParts {
    #[inline(always)]
    pub(super) fn subject<'r>(
        &self,
        view: &RequestView<'r, '_>,
        templates: &[Template],
    ) -> Result<RequestSubject<'r>, RequestError> {
        if view.is_single() {
            self.subject_by(&view.first(), templates)
        } else {
            self.subject_by_all(view, templates)
        }
    }

    /// Subject by all readings that the rule matches, or by all readings if it matches none.
    #[cold]
    fn subject_by_all<'r>(
        &self,
        view: &RequestView<'r, '_>,
        templates: &[Template],
    ) -> Result<RequestSubject<'r>, RequestError> {
        let is_for = |reading: &Reading<'_, 'r, '_>| is_for(templates, reading);
        let any = view.readings().any(|reading| is_for(&reading));
        let (mut full, mut lacking) = (None::<RequestSubject<'r>>, None::<RequestSubject<'r>>);
        for reading in view.readings().filter(|reading| !any || is_for(reading)) {
            let subject = self.subject_by(&reading, templates)?;
            let same_kind = if subject.coverage == KeyCoverage::All { &mut full } else { &mut lacking };
            match same_kind {
                Some(first) => first.agrees &= first.key == subject.key,
                None => *same_kind = Some(subject),
            }
        }
        Ok(match (full, lacking) {
            (Some(full), Some(_)) => RequestSubject { coverage: KeyCoverage::InSome, ..full },
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => RequestSubject::new(Key::from(""), KeyCoverage::NotAll),
        })
    }

    #[inline(always)]
    fn subject_by<'r>(
        &self,
        reading: &Reading<'_, 'r, '_>,
        templates: &[Template],
    ) -> Result<RequestSubject<'r>, RequestError> {
        match &*self.parts {
            [] => Ok(RequestSubject::new(Key::from(""), KeyCoverage::All)),
            [KeyPart { alternatives }] if let [source] = &**alternatives => {
                Ok(match self.value(source, reading, templates)? {
                    Some(value) if !value.is_empty() => RequestSubject::new(single(value), KeyCoverage::All),
                    _ => RequestSubject::new(Key::from(""), KeyCoverage::NotAll),
                })
            }
            [part] => Ok(match self.take(part, reading, templates)? {
                Some((0, value)) => RequestSubject::new(single(value), KeyCoverage::All),
                Some((index, value)) => {
                    let name = part.alternatives[index].name().as_bytes();
                    RequestSubject::new(Key::from_parts([name, &value]), KeyCoverage::All)
                }
                None => RequestSubject::new(Key::from(""), KeyCoverage::NotAll),
            }),
            parts => self.several(parts, reading, templates),
        }
    }

    fn several<'r>(
        &self,
        parts: &[KeyPart],
        reading: &Reading<'_, 'r, '_>,
        templates: &[Template],
    ) -> Result<RequestSubject<'r>, RequestError> {
        let mut written: SmallVec<[Cow<'_, [u8]>; 8]> = SmallVec::new();
        let mut coverage = KeyCoverage::All;
        for part in parts {
            match self.take(part, reading, templates)? {
                Some((index, value)) => {
                    if part.alternatives.len() > 1 {
                        written.push(Cow::Borrowed(part.alternatives[index].name().as_bytes()));
                    }
                    written.push(value);
                }
                None => {
                    written.push(Cow::Borrowed(b""));
                    coverage = KeyCoverage::NotAll;
                }
            }
        }
        Ok(RequestSubject::new(Key::from_parts(written.iter().map(|part| &**part)), coverage))
    }

    /// Parts of a key that [`KeyParts::subject`] made.
    pub(super) fn read(&self, key: &Key<'_>) -> Vec<KeyText> {
        let mut written = key.parts();
        let is_short = key.form() == KeyEncoding::Single;
        let texts = self.parts.iter().map(|part| {
            let first = written.next().unwrap_or_default();
            let text = |attribute: &[u8], value: &[u8]| KeyText {
                attribute: String::from_utf8_lossy(attribute).into_owned(),
                value: Some(String::from_utf8_lossy(value).into_owned()),
            };
            match &*part.alternatives {
                _ if first.is_empty() => KeyText { attribute: part.to_string(), value: None },
                [one] => text(one.name().as_bytes(), first),
                [one, ..] if is_short => text(one.name().as_bytes(), first),
                _ => text(first, written.next().unwrap_or_default()),
            }
        });
        texts.collect()
    }

    fn take<'r>(
        &self,
        part: &KeyPart,
        reading: &Reading<'_, 'r, '_>,
        templates: &[Template],
    ) -> Result<KeyAlternative<'r>, RequestError> {
        for (index, source) in part.alternatives.iter().enumerate() {
            let value = self.value(source, reading, templates)?;
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                return Ok(Some((index, value)));
            }
        }
        Ok(None)
    }

    /// Value of an attribute in its canonical form.
    #[inline(always)]
    fn value<'r>(
        &self,
        source: &AttributeSource,
        reading: &Reading<'_, 'r, '_>,
        templates: &[Template],
    ) -> Result<Option<Cow<'r, [u8]>>, RequestError> {
        match source {
            AttributeSource::Ip => {
                let address = reading.view.address()?;
                Ok(address.map(|(text, address)| address::subject(text, address, self.ipv6_prefix)))
            }
            _ => Ok(text_value(source, reading, templates)),
        }
    }
}

/// Canonical form of a value that is not an address.
fn text_value<'r>(
    source: &AttributeSource,
    reading: &Reading<'_, 'r, '_>,
    templates: &[Template],
) -> Option<Cow<'r, [u8]>> {
    match source {
        AttributeSource::Path => reading.path.map(|path| match counted(path.text(), reading) {
            root if root.is_empty() => Cow::Borrowed(b"/".as_slice()),
            path => path,
        }),
        AttributeSource::Method => source.sent(reading.view).map(|method| {
            let is_lower = method.iter().any(u8::is_ascii_lowercase);
            if is_lower { Cow::Owned(method.to_ascii_uppercase()) } else { method }
        }),
        AttributeSource::Parameter(_) => {
            let captured = source.captured(reading, templates).map(|value| counted(value, reading));
            captured.or_else(|| source.sent(reading.view))
        }
        AttributeSource::Attribute(_) | AttributeSource::Ip => source.sent(reading.view),
    }
}

/// Canonical form of a part of the path: the same for all readings that differ only in what servers
/// drop or decode.
#[inline]
fn counted<'r>(part: Cow<'r, [u8]>, reading: &Reading<'_, 'r, '_>) -> Cow<'r, [u8]> {
    if reading.view.is_single() { part } else { Cow::Owned(canonical(&part)) }
}

/// Whether one of these templates matches a request by this reading.
pub(super) fn is_for(templates: &[Template], reading: &Reading<'_, '_, '_>) -> bool {
    templates.is_empty()
        || reading.path.is_some_and(|path| templates.iter().any(|template| template.matches(path)))
}

fn single(value: Cow<'_, [u8]>) -> Key<'_> {
    match value {
        Cow::Borrowed(value) => Key::from(value),
        Cow::Owned(value) => Key::from(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_readings::PathRules;
    use crate::request::Request;

    /// The keys of most requests are not copied.
    #[test]
    fn single_values_are_borrowed() {
        let templates = [Template::whole("/users/{id}", PathRules::default()).expect("a template")];
        let request = Request::new()
            .with("user", "alice")
            .with("ip", "192.0.2.1")
            .with("path", "/users/42")
            .with("method", "GET");
        let view = RequestView::new(&request, PathRules::default()).expect("a plain path");
        let sources: [(&[&str], &str); 5] = [
            (&["user"], "alice"),
            (&["user", "ip"], "alice"),
            (&["ip"], "192.0.2.1"),
            (&["id"], "/users/42"),
            (&["method"], "GET"),
        ];
        for (names, within) in sources {
            let alternatives = names.iter().map(|name| AttributeSource::new(name, &templates)).collect();
            let key = KeyParts { parts: [KeyPart { alternatives }].into(), ipv6_prefix: 64 };
            let subject = key.subject(&view, &templates).expect("no error");
            assert_eq!(subject.coverage, KeyCoverage::All);
            let text = request.attributes().map(|(_, value)| value).find(|value| *value == within);
            let place = text.expect("an attribute").as_bytes().as_ptr_range();
            assert!(place.contains(&subject.key.bytes().as_ptr()), "{names:?} is copied");
        }
    }
}
