//! The fields of a mapping, and those that do not belong there.

use std::cell::RefCell;

use super::super::diagnostics::{Diagnostics, quote};
use super::super::file::{Span, Spanned};
use super::super::suggest::closest;
use super::super::yaml::{Entry, Kind, Node};
use super::Read;

/// A mapping that is read field by field. What was never asked for does not exist.
pub(super) struct Fields<'n> {
    node: &'n Node,
    entries: &'n [Entry],
    /// What it is, with its article: "a rule".
    owner: &'static str,
    known: RefCell<Vec<&'static str>>,
    /// What has to be there and is not, with an example.
    missing: RefCell<Vec<(&'static str, &'static str)>>,
    diagnostics: &'n Diagnostics,
}

impl<'n> Fields<'n> {
    /// `None`: it is no mapping, and that was reported.
    pub(super) fn of(node: &'n Node, owner: &'static str, diagnostics: &'n Diagnostics) -> Option<Self> {
        let Kind::Mapping(entries) = &node.kind else {
            expected(node, &format!("{owner} is a mapping"), "write its fields as name: value", diagnostics);
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

    /// Where to point when something is missing.
    pub(super) fn head(&self) -> Span {
        self.node.head()
    }

    /// A field as it stands.
    pub(super) fn find(&self, name: &'static str) -> Option<&'n Entry> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&name) {
            known.push(name);
        }
        self.entries.iter().find(|entry| entry.key == name)
    }

    /// A field that may be left out. `None` too if it is wrong.
    pub(super) fn get<T: Read>(&self, name: &'static str) -> Option<T> {
        self.read(self.find(name)?, "give it one, or leave the field out")
    }

    fn read<T: Read>(&self, entry: &Entry, help: &str) -> Option<T> {
        if entry.value.is_null() {
            self.diagnostics.report(entry.key_at, format!("`{}` has no value", entry.key), help);
            return None;
        }
        T::read(&entry.value, self.diagnostics)
    }

    /// A field that may be left out, or is taken by default if it is wrong.
    pub(super) fn or<T: Read>(&self, name: &'static str, default: T) -> T {
        self.get(name).unwrap_or(default)
    }

    /// A field that has to be there.
    pub(super) fn required<T: Read>(&self, name: &'static str, example: &'static str) -> Spanned<T> {
        match self.find(name) {
            Some(entry) => {
                let value = self.read(entry, &format!("give it one, as in {example}"));
                Spanned { at: entry.value.at, value }
            }
            None => {
                self.missing.borrow_mut().push((name, example));
                Spanned { at: self.head(), value: None }
            }
        }
    }

    /// Reports the fields that nobody asked for, and those that are missing.
    pub(super) fn done(self) {
        let (head, known) = (self.head(), self.known.into_inner());
        let mut missing = self.missing.into_inner();
        for Entry { key, key_at, .. } in self.entries.iter().filter(|entry| !known.contains(&&*entry.key)) {
            let what = format!("unknown field {} in {}", quote(key), self.owner);
            let all = format!("{} has {}", self.owner, known.join(", "));
            // A file of nothing but unknown fields has to end soon, too.
            let meant = if self.diagnostics.is_full() { None } else { closest(key, &known) };
            let help = match meant {
                Some(name) => format!("did you mean `{name}`? {all}"),
                None => all,
            };
            self.diagnostics.report(*key_at, what, help);
            // It is there under another name.
            missing.retain(|(name, _)| Some(*name) != meant);
        }
        for (name, example) in missing {
            let what = format!("{} needs `{name}`", self.owner);
            self.diagnostics.report(head, what, format!("add it, as in {example}"));
        }
    }
}

/// Something else stands here than `what` says; nothing is said of what was already reported.
pub(super) fn expected(node: &Node, what: &str, help: &str, diagnostics: &Diagnostics) {
    if !matches!(node.kind, Kind::Invalid) {
        diagnostics.report(node.head(), format!("{what}, and this is {}", node.describe()), help);
    }
}
