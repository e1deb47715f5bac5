//! The limits of a file of Limitador, as they stand there.

use miette::Report;
use slidegate::policy::file::Span;

use super::super::quote::shown;
use super::super::source::Source;
use super::super::tree::{self, Entry, Node};
use super::super::warnings::Warnings;

pub(super) struct Limit {
    pub(super) at: Span,
    pub(super) namespace: String,
    pub(super) max_value: u64,
    pub(super) seconds: u64,
    /// Its `id` if it has one, otherwise its `name`.
    pub(super) name: Option<String>,
    pub(super) conditions: Vec<(String, Span)>,
    pub(super) variables: Vec<(String, Span)>,
}

pub(super) fn read(source: &Source, warnings: &mut Warnings) -> Result<Vec<Limit>, Report> {
    let documents = tree::documents(source)?;
    if let [_, second, ..] = &*documents {
        return Err(source.mistake(
            second.head(),
            "a second document starts here",
            "put all limits in one list",
        ));
    }
    let Some(root) = documents.first() else { return Ok(Vec::new()) };
    source.list(root, "the file")?.iter().map(|node| limit(source, node, warnings)).collect()
}

fn limit(source: &Source, node: &Node, warnings: &mut Warnings) -> Result<Limit, Report> {
    let at = node.head();
    let (mut namespace, mut max_value, mut seconds) = (None, None, None);
    let (mut id, mut name) = (None, None);
    let (mut conditions, mut variables) = (Vec::new(), Vec::new());
    for Entry { key, key_at, value } in source.mapping(node, "a limit")? {
        match key.as_str() {
            "namespace" => namespace = Some(source.text(value, key)?.to_owned()),
            "max_value" => max_value = Some(source.number(value, key)?),
            "seconds" => seconds = Some(source.number(value, key)?),
            "id" => id = Some(source.text(value, key)?.to_owned()),
            "name" => name = Some(source.text(value, key)?.to_owned()),
            "conditions" => conditions = texts(source, value, key)?,
            "variables" => variables = texts(source, value, key)?,
            _ => {
                let what = format!("Limitador is not known to have `{}`", shown(key));
                warnings.warn(*key_at, what, "nothing is made of it: see whether it matters");
            }
        }
    }
    let lacks = |field: &str| {
        source.mistake(at, format!("a limit without `{field}`"), "it needs namespace, max_value and seconds")
    };
    Ok(Limit {
        at,
        namespace: namespace.ok_or_else(|| lacks("namespace"))?,
        max_value: max_value.ok_or_else(|| lacks("max_value"))?,
        seconds: seconds.ok_or_else(|| lacks("seconds"))?,
        name: id.or(name).filter(|name| !name.is_empty()),
        conditions,
        variables,
    })
}

fn texts(source: &Source, node: &Node, what: &str) -> Result<Vec<(String, Span)>, Report> {
    let items = source.list(node, what)?.iter();
    items.map(|item| Ok((source.text(item, what)?.to_owned(), item.at))).collect()
}
