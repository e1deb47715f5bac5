//! Whom a rule counts a request for.
//!
//! No two subjects share a key. A value that is missing is written as an empty text, which no value is, since an empty one
//! counts as missing. Which alternative of `api_key|ip` was taken is part of the key: whoever sends somebody's address as
//! an API key does not become that subject.
//!
//! A key of one part is the value of its first alternative as it is, so that most requests are counted under a text that is
//! only borrowed. Everything else is written in parts, which is another form: there alternatives are preceded by their name.

use std::borrow::Cow;
use std::fmt;

use smallvec::SmallVec;

use super::address;
use super::asked::{Asked, Source};
use super::template::Template;
use crate::key::{Form, Key};
use crate::request::RequestError;

/// What a rule's key is made of.
#[derive(Clone, Default, Debug)]
pub(super) struct KeyParts {
    pub(super) parts: Box<[KeyPart]>,
    pub(super) ipv6_prefix: u8,
}

/// Attributes of which the first that a request has is taken.
#[derive(Clone, Debug)]
pub(super) struct KeyPart {
    pub(super) alternatives: Box<[Source]>,
}

/// A request's subject.
pub(super) struct Subject<'r> {
    pub(super) key: Key<'r>,
    pub(super) found: Found,
}

/// A part of a key, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyText {
    /// The attribute that was taken; all alternatives, as in `api_key|ip`, where the request has none of them.
    pub attribute: String,
    /// Its value as it counts, in the one spelling that all equal values have.
    pub value: Option<String>,
}

/// Whether the request has all that makes the key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    All,
    NotAll,
}

/// As it is written: `api_key|ip`.
impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.alternatives.iter().map(Source::name);
        f.write_str(&names.collect::<Vec<_>>().join("|"))
    }
}

/// An alternative, and the value that was found for it.
type Taken<'r> = Option<(usize, Cow<'r, [u8]>)>;

impl KeyParts {
    #[inline(always)]
    pub(super) fn subject<'r>(
        &self,
        asked: &Asked<'r, '_>,
        templates: &[Template],
    ) -> Result<Subject<'r>, RequestError> {
        match &*self.parts {
            [] => Ok(Subject { key: Key::from(""), found: Found::All }),
            [KeyPart { alternatives }] if let [source] = &**alternatives => {
                Ok(match self.value(source, asked, templates)? {
                    Some(value) if !value.is_empty() => Subject { key: single(value), found: Found::All },
                    _ => Subject { key: Key::from(""), found: Found::NotAll },
                })
            }
            [part] => Ok(match self.take(part, asked, templates)? {
                Some((0, value)) => Subject { key: single(value), found: Found::All },
                Some((index, value)) => {
                    let name = part.alternatives[index].name().as_bytes();
                    Subject { key: Key::from_parts([name, &value]), found: Found::All }
                }
                None => Subject { key: Key::from(""), found: Found::NotAll },
            }),
            parts => self.several(parts, asked, templates),
        }
    }

    fn several<'r>(
        &self,
        parts: &[KeyPart],
        asked: &Asked<'r, '_>,
        templates: &[Template],
    ) -> Result<Subject<'r>, RequestError> {
        let mut written: SmallVec<[Cow<'_, [u8]>; 8]> = SmallVec::new();
        let mut found = Found::All;
        for part in parts {
            match self.take(part, asked, templates)? {
                Some((index, value)) => {
                    if part.alternatives.len() > 1 {
                        written.push(Cow::Borrowed(part.alternatives[index].name().as_bytes()));
                    }
                    written.push(value);
                }
                None => {
                    written.push(Cow::Borrowed(b""));
                    found = Found::NotAll;
                }
            }
        }
        Ok(Subject { key: Key::from_parts(written.iter().map(|part| &**part)), found })
    }

    /// The same for people, part by part.
    pub(super) fn shown(
        &self,
        asked: &Asked<'_, '_>,
        templates: &[Template],
    ) -> Result<Vec<KeyText>, RequestError> {
        let shown = self.parts.iter().map(|part| {
            Ok(match self.take(part, asked, templates)? {
                Some((index, value)) => KeyText {
                    attribute: part.alternatives[index].name().to_owned(),
                    value: Some(String::from_utf8_lossy(&value).into_owned()),
                },
                None => KeyText { attribute: part.to_string(), value: None },
            })
        });
        shown.collect()
    }

    /// Whom a key stands for, from what [`KeyParts::subject`] wrote.
    pub(super) fn read(&self, key: &Key<'_>) -> Vec<KeyText> {
        let mut written = key.parts();
        let is_short = key.form() == Form::Single;
        let shown = self.parts.iter().map(|part| {
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
        shown.collect()
    }

    fn take<'r>(
        &self,
        part: &KeyPart,
        asked: &Asked<'r, '_>,
        templates: &[Template],
    ) -> Result<Taken<'r>, RequestError> {
        for (index, source) in part.alternatives.iter().enumerate() {
            let value = self.value(source, asked, templates)?;
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                return Ok(Some((index, value)));
            }
        }
        Ok(None)
    }

    /// A value as it counts: one spelling for what means the same.
    #[inline(always)]
    fn value<'r>(
        &self,
        source: &Source,
        asked: &Asked<'r, '_>,
        templates: &[Template],
    ) -> Result<Option<Cow<'r, [u8]>>, RequestError> {
        match source {
            Source::Ip => {
                let address = asked.address()?;
                Ok(address.map(|(text, address)| address::subject(text, address, self.ipv6_prefix)))
            }
            _ => Ok(text_value(source, asked, templates)),
        }
    }
}

/// A value that is no address, as it counts.
fn text_value<'r>(source: &Source, asked: &Asked<'r, '_>, templates: &[Template]) -> Option<Cow<'r, [u8]>> {
    match source {
        Source::Path => asked.path().map(|path| match path.segments_from(0) {
            root if root.is_empty() => Cow::Borrowed(b"/".as_slice()),
            path => path,
        }),
        Source::Method => source.value(asked, templates).map(|method| {
            let is_lower = method.iter().any(u8::is_ascii_lowercase);
            if is_lower { Cow::Owned(method.to_ascii_uppercase()) } else { method }
        }),
        Source::Attribute(_) | Source::Parameter(_) | Source::Ip => source.value(asked, templates),
    }
}

impl Key<'_> {
    /// Its parts; a key that is one part has one.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes();
        let mut single = (self.form() == Form::Single).then_some(rest);
        std::iter::from_fn(move || {
            if self.form() == Form::Single {
                return single.take();
            }
            let (length, after) = rest.split_first_chunk()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (part, after) = after.split_at_checked(length)?;
            rest = after;
            Some(part)
        })
    }
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
    use crate::request::Request;

    /// What most requests are counted under is not copied.
    #[test]
    fn single_values_are_borrowed() {
        let templates = [Template::whole("/users/{id}").expect("a template")];
        let request = Request::new()
            .with("user", "alice")
            .with("ip", "192.0.2.1")
            .with("path", "/users/42")
            .with("method", "GET");
        let asked = Asked::new(&request);
        let sources: [(&[&str], &str); 5] = [
            (&["user"], "alice"),
            (&["user", "ip"], "alice"),
            (&["ip"], "192.0.2.1"),
            (&["id"], "/users/42"),
            (&["method"], "GET"),
        ];
        for (names, within) in sources {
            let alternatives = names.iter().map(|name| Source::new(name, &templates)).collect();
            let key = KeyParts { parts: [KeyPart { alternatives }].into(), ipv6_prefix: 64 };
            let subject = key.subject(&asked, &templates).expect("no error");
            assert_eq!(subject.found, Found::All);
            let text = request.attributes().map(|(_, value)| value).find(|value| *value == within);
            let place = text.expect("an attribute").as_bytes().as_ptr_range();
            assert!(place.contains(&subject.key.bytes().as_ptr()), "{names:?} is copied");
        }
    }
}
