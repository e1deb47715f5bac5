//! Properties of a Spring application, from YAML or a `.properties` file.

use miette::Report;
use slidegate::policy::file::Span;
use slidegate::policy::yaml::{Kind, Node};

use super::super::source::SourceFile;
use super::super::warnings::Warnings;
use super::documents;
use crate::policy_writer::quote::excerpt;

/// Property of a Spring application.
pub(super) struct Property {
    /// Canonical name: lower case, without dashes and underscores.
    pub(super) name: String,
    /// Name as it is written in the file.
    pub(super) spelling: String,
    pub(super) at: Span,
    pub(super) value: String,
    pub(super) value_at: Span,
}

impl Property {
    pub(super) fn is_limiter(&self) -> bool {
        self.name.starts_with("ratelimiter.")
    }
}

/// Properties of a file, each once: a later one replaces an earlier one.
pub(super) fn read(source: &SourceFile, warnings: &mut Warnings) -> Result<Vec<Property>, Report> {
    let documents = if is_properties(source) { parse_properties(&source.text) } else { parse_yaml(source)? };
    let mut found = documents::select(documents, warnings);
    for property in &mut found {
        resolve(source, property, warnings)?;
    }
    let mut last: Vec<Property> = Vec::new();
    for property in found {
        last.retain(|other| other.name != property.name);
        last.push(property);
    }
    Ok(last)
}

/// Whether the format is `.properties`: by the file name, or by a first line with a name and `=`.
fn is_properties(source: &SourceFile) -> bool {
    let is_comment = |line: &&str| line.is_empty() || line.starts_with(['#', '!']);
    let first = source.text.lines().map(str::trim).find(|line| !is_comment(line)).unwrap_or_default();
    let name = first.find(['=', ':', ' ']).filter(|at| first[*at..].trim_start().starts_with('='));
    source.name.ends_with(".properties") || name.is_some()
}

/// Documents of a `.properties` file. `#---` or `!---` separates them; as in Spring, not directly
/// after a comment with the same sign or before any comment.
fn parse_properties(text: &str) -> Vec<Vec<Property>> {
    let (mut documents, mut document) = (Vec::new(), Vec::new());
    let (mut start, mut comment) = (0, None);
    for line in text.split_inclusive('\n') {
        let at = start + line.len() - line.trim_start().len();
        start += line.len();
        match line.trim_start().chars().next() {
            None => {}
            Some(sign @ ('#' | '!')) => {
                if comment != Some(sign) && matches!(line.trim_end(), "#---" | "!---") {
                    if !document.is_empty() {
                        documents.push(std::mem::take(&mut document));
                    }
                    continue;
                }
                comment = Some(sign);
                if document.is_empty() {
                    document = documents.pop().unwrap_or_default();
                }
            }
            Some(_) => {
                comment = None;
                document.push(parse_line(line.trim(), at));
            }
        }
    }
    documents.push(document);
    documents
}

fn parse_line(line: &str, at: usize) -> Property {
    let name_len = line.find(['=', ':', ' ', '\t']).unwrap_or(line.len());
    let rest = line[name_len..].trim_start();
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start();
    let value_at = Span { start: at + line.len() - value.len(), len: value.len() };
    let at = Span { start: at, len: name_len };
    property(line[..name_len].to_owned(), at, value.to_owned(), value_at)
}

fn property(spelling: String, at: Span, value: String, value_at: Span) -> Property {
    let name = spelling.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect();
    Property { name, spelling, at, value, value_at }
}

fn parse_yaml(source: &SourceFile) -> Result<Vec<Vec<Property>>, Report> {
    let documents = source.documents()?.into_iter().map(|document| {
        let mut found = Vec::new();
        flatten(&document, "", document.at, &mut found);
        found
    });
    Ok(documents.collect())
}

/// Flattens a tree as Spring does: names joined by dots, list indexes in brackets.
fn flatten(node: &Node, name: &str, at: Span, found: &mut Vec<Property>) {
    match &node.kind {
        Kind::Mapping(entries) => {
            for entry in entries {
                let dot = if name.is_empty() { "" } else { "." };
                flatten(&entry.value, &format!("{name}{dot}{}", entry.key), entry.key_at, found);
            }
        }
        Kind::Scalar { text, .. } => found.push(property(name.to_owned(), at, text.clone(), node.at)),
        Kind::Sequence(nodes) => {
            for (index, node) in nodes.iter().enumerate() {
                flatten(node, &format!("{name}[{index}]"), node.at, found);
            }
        }
        // An invalid file has no tree.
        Kind::Invalid => {}
    }
}

/// Resolves a placeholder: `${NAME:5}` is 5 unless the environment sets NAME.
fn resolve(source: &SourceFile, property: &mut Property, warnings: &mut Warnings) -> Result<(), Report> {
    if !property.is_limiter() || !property.value.contains("${") {
        return Ok(());
    }
    let within = property.value.strip_prefix("${").and_then(|value| value.strip_suffix('}'));
    let default = within.and_then(|within| within.split_once(':')).map(|(_, default)| default);
    let Some(default) = default.filter(|default| !default.contains("${")) else {
        let what = format!("`{}` is set outside this file", excerpt(&property.value));
        return Err(source.error(property.value_at, what, "write the value that the application runs with"));
    };
    let what =
        format!("`{}` may be set outside this file; the default {default} is used", excerpt(&property.value));
    warnings.warn(property.value_at, what, "change the policy if the application runs with another value");
    property.value = default.to_owned();
    Ok(())
}
