//! Reader of the fields of a mapping. Reports unknown and missing ones.

use std::cell::RefCell;

use super::Format;
use crate::diagnostics::{Diagnostics, quote};
use crate::file::Span;
use crate::suggest::closest;
use crate::yaml::{Entry, Kind, Node};

/// Mapping that is read field by field. A field that was never read is unknown.
pub struct Fields<'n> {
    node: &'n Node,
    entries: &'n [Entry],
    /// Name of its type with an article: "a rule".
    owner: &'static str,
    names: RefCell<Vec<&'static str>>,
    /// Required fields that are missing, with an example of each.
    missing: RefCell<Vec<(&'static str, &'static str)>>,
    diagnostics: &'n Diagnostics,
}

impl<'n> Fields<'n> {
    /// Reader of a node. `None`: it is not a mapping, and that was reported.
    pub fn of(node: &'n Node, owner: &'static str, diagnostics: &'n Diagnostics) -> Option<Self> {
        let Kind::Mapping(entries) = &node.kind else {
            let help = format!("write the fields of {owner} as `name: value`");
            expected(node, "a mapping", &help, diagnostics);
            return None;
        };
        Some(Self {
            node,
            entries,
            owner,
            names: RefCell::default(),
            missing: RefCell::default(),
            diagnostics,
        })
    }

    /// Position for errors about the mapping as a whole.
    pub fn head(&self) -> Span {
        self.node.head()
    }

    /// Field of this name.
    pub fn find(&self, name: &'static str) -> Option<&'n Entry> {
        let mut names = self.names.borrow_mut();
        if !names.contains(&name) {
            names.push(name);
        }
        self.entries.iter().find(|entry| entry.key == name)
    }

    /// Value of an optional field. `None` if it is absent or invalid.
    pub fn get<F: Format>(&self, name: &'static str) -> Option<F::Value> {
        self.read::<F>(self.find(name)?, "add a value, or remove the field")
    }

    fn read<F: Format>(&self, entry: &Entry, help: &str) -> Option<F::Value> {
        if entry.value.is_null() {
            self.report(entry.key_at, format!("missing value of `{}`", entry.key), help);
            return None;
        }
        F::read(&entry.value, self.diagnostics)
    }

    /// Value of a required field, with an example of the whole field.
    pub fn required<F: Format>(&self, name: &'static str, example: &'static str) -> Option<F::Value> {
        match self.find(name) {
            Some(entry) => {
                let value = self.read::<F>(entry, &format!("add one, as in `{example}`"));
                value.or_else(|| F::missing(entry.value.at))
            }
            None => {
                self.missing.borrow_mut().push((name, example));
                F::missing(self.head())
            }
        }
    }

    /// Adds an error: its message, and help on how to fix it.
    pub fn report(&self, at: Span, message: impl Into<String>, help: impl Into<String>) {
        self.diagnostics.report(at, message, help);
    }

    /// Reports the unknown fields and the missing ones.
    pub fn done(&self) {
        let (head, names) = (self.head(), self.names.borrow());
        let mut missing = self.missing.take();
        for Entry { key, key_at, .. } in self.entries.iter().filter(|entry| !names.contains(&&*entry.key)) {
            // A search for each field would take long in a file of nothing but unknown fields.
            let meant = if self.diagnostics.is_full() { None } else { closest(key, &names) };
            let message = match meant {
                Some(name) => format!("unknown field {}: did you mean `{name}`?", quote(key)),
                None => format!("unknown field {}", quote(key)),
            };
            let help = format!("{} has the fields {}", self.owner, names.join(", "));
            self.report(*key_at, message, help);
            // The field is present under a misspelt name.
            missing.retain(|(name, _)| Some(*name) != meant);
        }
        for (name, example) in missing {
            let help = format!("{} requires it: add `{example}`", self.owner);
            self.report(head, format!("missing field `{name}`"), help);
        }
    }
}

/// Reports that a node is not what was expected, unless the node itself was already reported.
pub fn expected(node: &Node, expectation: &str, help: &str, diagnostics: &Diagnostics) {
    if !matches!(node.kind, Kind::Invalid) {
        diagnostics.report(node.head(), format!("expected {expectation}, found {}", node.describe()), help);
    }
}
