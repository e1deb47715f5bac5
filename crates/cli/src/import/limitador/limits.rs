//! Limits file of Limitador.

use miette::Report;
use slidegate::policy::file::Span;
use slidegate::policy::yaml::{Entry, Node};

use super::super::source::SourceFile;
use super::super::warnings::Warnings;
use crate::policy_writer::quote::excerpt;

/// A limit of the file.
pub(super) struct LimitadorLimit {
    pub(super) at: Span,
    pub(super) namespace: String,
    pub(super) max_value: u64,
    pub(super) seconds: u64,
    /// Its `id`, or else its `name`.
    pub(super) name: Option<String>,
    pub(super) conditions: Vec<(String, Span)>,
    pub(super) variables: Vec<(String, Span)>,
}

pub(super) fn read(source: &SourceFile, warnings: &mut Warnings) -> Result<Vec<LimitadorLimit>, Report> {
    let documents = source.documents()?;
    if let [_, second, ..] = &*documents {
        return Err(source.error(second.head(), "more than one document", "put all limits in one list"));
    }
    let Some(root) = documents.first() else { return Ok(Vec::new()) };
    source.list(root, "the file")?.iter().map(|node| limit(source, node, warnings)).collect()
}

fn limit(source: &SourceFile, node: &Node, warnings: &mut Warnings) -> Result<LimitadorLimit, Report> {
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
                let what = format!("unknown field `{}` is ignored", excerpt(key));
                warnings.warn(*key_at, what, "check whether it matters");
            }
        }
    }
    let missing = |field: &str| {
        source.error(
            at,
            format!("missing `{field}` of a limit"),
            "a limit needs namespace, max_value and seconds",
        )
    };
    Ok(LimitadorLimit {
        at,
        namespace: namespace.ok_or_else(|| missing("namespace"))?,
        max_value: max_value.ok_or_else(|| missing("max_value"))?,
        seconds: seconds.ok_or_else(|| missing("seconds"))?,
        name: id.or(name).filter(|name| !name.is_empty()),
        conditions,
        variables,
    })
}

fn texts(source: &SourceFile, node: &Node, what: &str) -> Result<Vec<(String, Span)>, Report> {
    let items = source.list(node, &format!("`{what}`"))?.iter();
    items.map(|item| Ok((source.text(item, what)?.to_owned(), item.at))).collect()
}
