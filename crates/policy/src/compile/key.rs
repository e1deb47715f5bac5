//! Compilation of keys.

use super::super::diagnostics::Diagnostics;
use super::super::file::Spanned;
use super::super::request_view::AttributeSource;
use super::super::subject::{KeyPart, KeyParts};
use super::super::template::Template;
use crate::request::MAX_NAME_BYTES;

pub(super) fn compile(
    written: &[Spanned<String>],
    templates: &[Template],
    ipv6_prefix: u8,
    diagnostics: &Diagnostics,
) -> KeyParts {
    let mut names: Vec<&str> = Vec::new();
    let mut parts = Vec::new();
    for Spanned { at, value } in written {
        let Some(text) = value else { continue };
        let mut alternatives = Vec::new();
        for name in text.split('|').map(str::trim) {
            if name.is_empty() {
                let help = "write an attribute, or alternatives as in `api_key|ip`";
                diagnostics.report(*at, "empty part of the key", help);
            } else if name.len() > MAX_NAME_BYTES {
                let help = format!("the maximum is {MAX_NAME_BYTES} bytes");
                diagnostics.report(*at, "the attribute name is too long", help);
            } else if names.contains(&name) {
                let help = "use each attribute once";
                diagnostics.report(*at, format!("duplicate attribute `{name}` in the key"), help);
            } else {
                names.push(name);
                alternatives.push(AttributeSource::new(name, templates));
            }
        }
        parts.push(KeyPart { alternatives: alternatives.into() });
    }
    KeyParts { parts: parts.into(), ipv6_prefix }
}
