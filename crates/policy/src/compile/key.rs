//! What a rule's key is made of.

use super::super::diagnostics::Problems;
use super::super::file::Spot;
use super::super::request_view::Source;
use super::super::subject::{KeyPart, KeyParts};
use super::super::template::Template;
use crate::request::MAX_NAME_BYTES;

pub(super) fn compile(
    written: &[Spot<String>],
    templates: &[Template],
    ipv6_prefix: u8,
    problems: &Problems,
) -> KeyParts {
    let mut names: Vec<&str> = Vec::new();
    let mut parts = Vec::new();
    for Spot { at, value } in written {
        let Some(text) = value else { continue };
        let mut alternatives = Vec::new();
        for name in text.split('|').map(str::trim) {
            if name.is_empty() {
                let remedy = "name an attribute, or several as in `api_key|ip`";
                problems.report(*at, "a part of the key is empty", remedy);
            } else if name.len() > MAX_NAME_BYTES {
                let remedy = format!("an attribute's name has at most {MAX_NAME_BYTES} bytes");
                problems.report(*at, "no attribute has so long a name", remedy);
            } else if names.contains(&name) {
                let remedy = "name every attribute once: a second time it tells nobody apart";
                problems.report(*at, format!("`{name}` comes twice in this key"), remedy);
            } else {
                names.push(name);
                alternatives.push(Source::new(name, templates));
            }
        }
        parts.push(KeyPart { alternatives: alternatives.into() });
    }
    KeyParts { parts: parts.into(), ipv6_prefix }
}
