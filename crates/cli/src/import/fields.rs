//! Typed access to the values of a configuration file.

use std::rc::Rc;

use miette::Report;
use slidegate::policy::yaml::{Entry, Kind, Node};

use super::source::SourceFile;
use crate::policy_writer::quote::excerpt;

impl SourceFile {
    /// Fields of a mapping.
    pub(super) fn mapping<'n>(&self, node: &'n Node, what: &str) -> Result<&'n [Entry], Report> {
        match &node.kind {
            Kind::Mapping(entries) => Ok(entries),
            _ => Err(self.error(
                node.at,
                format!("{what} must be a mapping"),
                "write fields, as in `name: value`",
            )),
        }
    }

    /// Items of a list; an absent value is an empty list.
    pub(super) fn list<'n>(&self, node: &'n Node, what: &str) -> Result<&'n [Rc<Node>], Report> {
        match &node.kind {
            Kind::Sequence(nodes) => Ok(nodes),
            _ if node.is_null() => Ok(&[]),
            _ => Err(self.error(node.at, format!("{what} must be a list"), "write each item after a dash")),
        }
    }

    /// A text, or a number or boolean as it is written; an absent value is the empty text.
    pub(super) fn text<'n>(&self, node: &'n Node, what: &str) -> Result<&'n str, Report> {
        match &node.kind {
            _ if node.is_null() => Ok(""),
            Kind::Scalar { text, .. } => Ok(text),
            _ => {
                Err(self.error(node.at, format!("`{what}` must be a text"), format!("write `{what}: value`")))
            }
        }
    }

    pub(super) fn number(&self, node: &Node, what: &str) -> Result<u64, Report> {
        let text = self.text(node, what)?;
        text.parse().map_err(|_| {
            let what = format!("invalid `{what}`: `{}` is not a whole number", excerpt(text));
            self.error(node.at, what, "write a whole number, at least 0")
        })
    }

    pub(super) fn flag(&self, node: &Node, what: &str) -> Result<bool, Report> {
        let text = self.text(node, what)?;
        match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "y" => Ok(true),
            "false" | "no" | "off" | "n" | "" => Ok(false),
            _ => {
                let what = format!("invalid `{what}`: `{}` is not a boolean", excerpt(text));
                Err(self.error(node.at, what, "write true or false"))
            }
        }
    }
}
