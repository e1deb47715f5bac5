//! Reader of the fields of a mapping. Reports unknown and missing ones.

use std::cell::RefCell;

use super::super::diagnostics::{Diagnostics, quote};
use super::super::file::{Span, Spanned};
use super::super::suggest::closest;
use super::super::yaml::{Entry, Kind, Node};
use super::Read;

/// Mapping that is read field by field. A field that was never read is unknown.
pub(super) struct Fields<'n> {
    node: &'n Node,
    entries: &'n [Entry],
    /// Name of its type with an article: "a rule".
    owner: &'static str,
    known: RefCell<Vec<&'static str>>,
    /// Required fields that are missing, with an example of each.
    missing: RefCell<Vec<(&'static str, &'static str)>>,
    diagnostics: &'n Diagnostics,
}

impl<'n> Fields<'n> {
    /// Reader of a node. `None`: it is not a mapping, and that was reported.
    pub(super) fn of(node: &'n Node, owner: &'static str, diagnostics: &'n Diagnostics) -> Option<Self> {
        let Kind::Mapping(entries) = &node.kind else {
            let help = format!("write the fields of {owner} as `name: value`");
            expected(node, "a mapping", &help, diagnostics);
            return None;
        };
        Some(Self {
            node,
            entries,
            owner,
            known: RefCell::default(),
            missing: RefCell::default(),
            diagnostics,
        })
    }

    /// Position for errors about the mapping as a whole.
    pub(super) fn head(&self) -> Span {
        self.node.head()
    }

    /// Field of this name.
    pub(super) fn find(&self, name: &'static str) -> Option<&'n Entry> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&name) {
            known.push(name);
        }
        self.entries.iter().find(|entry| entry.key == name)
    }

    /// Value of an optional field. `None` if it is absent or invalid.
    pub(super) fn get<T: Read>(&self, name: &'static str) -> Option<T> {
        self.read(self.find(name)?, "add a value, or remove the field")
    }

    fn read<T: Read>(&self, entry: &Entry, help: &str) -> Option<T> {
        if entry.value.is_null() {
            self.diagnostics.report(entry.key_at, format!("missing value of `{}`", entry.key), help);
            return None;
        }
        T::read(&entry.value, self.diagnostics)
    }

    /// Value of an optional field, or the default if it is absent or invalid.
    pub(super) fn or<T: Read>(&self, name: &'static str, default: T) -> T {
        self.get(name).unwrap_or(default)
    }

    /// Value of a required field.
    pub(super) fn required<T: Read>(&self, name: &'static str, example: &'static str) -> Spanned<T> {
        match self.find(name) {
            Some(entry) => {
                let value = self.read(entry, &format!("add one, as in `{example}`"));
                Spanned { at: entry.value.at, value }
            }
            None => {
                self.missing.borrow_mut().push((name, example));
                Spanned { at: self.head(), value: None }
            }
        }
    }

    /// Reports the unknown fields and the missing ones.
    pub(super) fn done(self) {
        let (head, known) = (self.head(), self.known.into_inner());
        let mut missing = self.missing.into_inner();
        for Entry { key, key_at, .. } in self.entries.iter().filter(|entry| !known.contains(&&*entry.key)) {
            // A search for each field would take long in a file of nothing but unknown fields.
            let meant = if self.diagnostics.is_full() { None } else { closest(key, &known) };
            let message = match meant {
                Some(name) => format!("unknown field {}: did you mean `{name}`?", quote(key)),
                None => format!("unknown field {}", quote(key)),
            };
            let help = format!("{} has the fields {}", self.owner, known.join(", "));
            self.diagnostics.report(*key_at, message, help);
            // The field is present under a misspelt name.
            missing.retain(|(name, _)| Some(*name) != meant);
        }
        for (name, example) in missing {
            let help = format!("{} requires it: add `{example}`", self.owner);
            self.diagnostics.report(head, format!("missing field `{name}`"), help);
        }
    }
}

/// Reports that a node is not what was expected, unless the node itself was already reported.
pub(super) fn expected(node: &Node, expectation: &str, help: &str, diagnostics: &Diagnostics) {
    if !matches!(node.kind, Kind::Invalid) {
        diagnostics.report(node.head(), format!("expected {expectation}, found {}", node.describe()), help);
    }
}
