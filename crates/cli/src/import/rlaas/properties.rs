//! Properties of a Spring application, from YAML or from a `.properties` file.

use miette::Report;
use slidegate::policy::file::Span;

use super::super::quoted::shown;
use super::super::source::Source;
use super::super::tree::{self, Kind, Node};
use super::super::warnings::Warnings;

pub(super) struct Property {
    /// In one spelling, whatever Spring allows: lower case, without dashes and underscores.
    pub(super) name: String,
    /// As it stands there.
    pub(super) written: String,
    pub(super) at: Span,
    pub(super) value: String,
    pub(super) value_at: Span,
}

/// All properties of a file, each once: a later one takes the place of an earlier one.
pub(super) fn read(source: &Source, warnings: &mut Warnings) -> Result<Vec<Property>, Report> {
    let mut found = if is_properties(source) { of_lines(&source.text) } else { of_yaml(source, warnings)? };
    for property in &mut found {
        resolve(source, property, warnings)?;
    }
    let mut last: Vec<Property> = Vec::new();
    for property in found {
        last.retain(|known| known.name != property.name);
        last.push(property);
    }
    Ok(last)
}

/// By its name, or by its first line: a name and `=`, which YAML does not have.
fn is_properties(source: &Source) -> bool {
    let is_comment = |line: &&str| line.is_empty() || line.starts_with(['#', '!']);
    let first = source.text.lines().map(str::trim).find(|line| !is_comment(line)).unwrap_or_default();
    let name = first.find(['=', ':', ' ']).filter(|at| first[*at..].trim_start().starts_with('='));
    source.name.ends_with(".properties") || name.is_some()
}

fn of_lines(text: &str) -> Vec<Property> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start + line.len() - line.trim_start().len();
        start += line.len();
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let name_len = line.find(['=', ':', ' ', '\t']).unwrap_or(line.len());
        let rest = line[name_len..].trim_start();
        let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start();
        let value_at = Span { start: at + line.len() - value.len(), len: value.len() };
        let at = Span { start: at, len: name_len };
        found.push(property(line[..name_len].to_owned(), at, value.to_owned(), value_at));
    }
    found
}

fn property(written: String, at: Span, value: String, value_at: Span) -> Property {
    let name = written.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect();
    Property { name, written, at, value, value_at }
}

/// The properties of the first document that has any of the limiter; others are for profiles, which are not known here.
fn of_yaml(source: &Source, warnings: &mut Warnings) -> Result<Vec<Property>, Report> {
    let mut taken: Option<Vec<Property>> = None;
    for document in tree::documents(source)? {
        let mut found = Vec::new();
        flatten(&document, "", document.at, &mut found);
        let Some(first) = found.iter().find(|one| one.name.starts_with("ratelimiter.")) else { continue };
        match taken {
            None => taken = Some(found),
            Some(_) => {
                let what = "this document has a `rate-limiter`, too, and is left out";
                warnings.warn(first.at, what, "convert each profile by itself, in a file with one document");
            }
        }
    }
    Ok(taken.unwrap_or_default())
}

/// Names joined by dots, as Spring joins them.
fn flatten(node: &Node, name: &str, at: Span, found: &mut Vec<Property>) {
    match &node.kind {
        Kind::Mapping(entries) => {
            for entry in entries {
                let dot = if name.is_empty() { "" } else { "." };
                flatten(&entry.value, &format!("{name}{dot}{}", entry.key), entry.key_at, found);
            }
        }
        Kind::Scalar { text, .. } => found.push(property(name.to_owned(), at, text.clone(), node.at)),
        Kind::Sequence(_) => {}
    }
}

/// `${NAME:5}` is 5 unless the environment says otherwise.
fn resolve(source: &Source, property: &mut Property, warnings: &mut Warnings) -> Result<(), Report> {
    if !property.name.starts_with("ratelimiter.") || !property.value.contains("${") {
        return Ok(());
    }
    let within = property.value.strip_prefix("${").and_then(|value| value.strip_suffix('}'));
    let default = within.and_then(|within| within.split_once(':')).map(|(_, default)| default);
    let Some(default) = default.filter(|default| !default.contains("${")) else {
        let what = format!("`{}` is set from outside this file", shown(&property.value));
        return Err(source.mistake(
            property.value_at,
            what,
            "write the value that the application runs with",
        ));
    };
    let what = format!("`{}` may be set from outside this file; {default} is taken", shown(&property.value));
    warnings.warn(property.value_at, what, "change the policy if the application runs with another value");
    property.value = default.to_owned();
    Ok(())
}
