//! What values of a foreign file have to be, with errors that say so.

use std::rc::Rc;

use miette::Report;

use super::quote::shown;
use super::source::Source;
use super::tree::{Entry, Kind, Node};

impl Source {
    /// The fields of a mapping.
    pub(super) fn mapping<'n>(&self, node: &'n Node, what: &str) -> Result<&'n [Entry], Report> {
        match &node.kind {
            Kind::Mapping(entries) => Ok(entries),
            _ => {
                Err(self.mistake(node.at, format!("{what} is a mapping"), "write fields, as in name: value"))
            }
        }
    }

    /// The items of a list; nothing is a list without items.
    pub(super) fn list<'n>(&self, node: &'n Node, what: &str) -> Result<&'n [Rc<Node>], Report> {
        match &node.kind {
            Kind::Sequence(nodes) => Ok(nodes),
            _ if node.is_nothing() => Ok(&[]),
            _ => Err(self.mistake(node.at, format!("`{what}` is a list"), "write each item after a dash")),
        }
    }

    /// A text, also of a number or a boolean as it is written; nothing is the empty text.
    pub(super) fn text<'n>(&self, node: &'n Node, what: &str) -> Result<&'n str, Report> {
        match &node.kind {
            _ if node.is_nothing() => Ok(""),
            Kind::Scalar { text, .. } => Ok(text),
            _ => Err(self.mistake(node.at, format!("`{what}` is a text"), format!("write {what}: value"))),
        }
    }

    pub(super) fn number(&self, node: &Node, what: &str) -> Result<u64, Report> {
        let text = self.text(node, what)?;
        text.parse().map_err(|_| {
            let what = format!("`{}` does not work as `{what}`", shown(text));
            self.mistake(node.at, what, "write a whole number, at least 0")
        })
    }

    pub(super) fn flag(&self, node: &Node, what: &str) -> Result<bool, Report> {
        let text = self.text(node, what)?;
        match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "y" => Ok(true),
            "false" | "no" | "off" | "n" | "" => Ok(false),
            _ => {
                let what = format!("`{}` does not work as `{what}`", shown(text));
                Err(self.mistake(node.at, what, "write true or false"))
            }
        }
    }
}
