//! Reader of rules.

use std::collections::BTreeMap;

use super::super::diagnostics::Diagnostics;
use super::super::file::{Conditions, Missing, Mode, Override, Percent, Rule, Spanned};
use super::super::yaml::{Kind, Node};
use super::Read;
use super::fields::{Fields, expected};
use super::scalars::word;
use slidegate_store::OnStoreError;

impl Read for Rule {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let fields = Fields::of(node, "a rule", diagnostics)?;
        let rule = Self {
            name: fields.required("name", "name: login"),
            matches: fields.or("match", Conditions::default()),
            key: fields.or("key", Vec::new()),
            limits: fields.required("limits", "limits: [5/min]"),
            missing: fields.or("missing", Missing::default()),
            missing_is_given: fields.find("missing").is_some(),
            overrides: fields.or("overrides", Vec::new()),
            tiers: fields.or("tiers", BTreeMap::new()),
            allow: fields.or("allow", Vec::new()),
            deny: fields.or("deny", Vec::new()),
            mode: fields.or("mode", Mode::default()),
            on_store_error: fields.or("on_store_error", OnStoreError::default()),
            refundable: fields.or("refundable", false),
        };
        fields.done();
        Some(rule)
    }
}

impl Read for Override {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let fields = Fields::of(node, "an override", diagnostics)?;
        let when = fields.required::<Conditions>("when", "when: { org: acme }");
        let limits = fields.required("limits", "limits: [50/s]");
        fields.done();
        Some(Self { when: when.value?, limits })
    }
}

impl Read for Missing {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        word(node, &[("shared", Self::Shared), ("skip", Self::Skip), ("deny", Self::Deny)], diagnostics)
    }
}

impl Read for OnStoreError {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        word(node, &[("local", Self::Local), ("allow", Self::Allow), ("deny", Self::Deny)], diagnostics)
    }
}

impl Read for Mode {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        const FORMS: &str =
            "write `enforce`, `observe`, `{ enforce: 25% }` or `{ enforce_for: [{ org: acme }] }`";
        match &node.kind {
            Kind::Scalar { .. } => {
                #[derive(Clone, Copy)]
                enum Word {
                    Enforce,
                    Observe,
                }
                Some(
                    match word(node, &[("enforce", Word::Enforce), ("observe", Word::Observe)], diagnostics)?
                    {
                        Word::Enforce => Self::Enforce,
                        Word::Observe => Self::Observe,
                    },
                )
            }
            Kind::Mapping(_) => {
                let fields = Fields::of(node, "a mode", diagnostics)?;
                let share = fields.get::<Spanned<Percent>>("enforce");
                let some = fields.get::<Spanned<Vec<Conditions>>>("enforce_for");
                let head = fields.head();
                fields.done();
                match (share, some) {
                    (Some(share), None) => share.value.map(Self::Share),
                    (None, Some(some)) => some.value.map(Self::For),
                    (Some(_), Some(some)) => {
                        diagnostics.report(some.at, "`enforce` and `enforce_for` cannot be combined", FORMS);
                        None
                    }
                    (None, None) => {
                        diagnostics.report(head, "missing field `enforce` or `enforce_for`", FORMS);
                        None
                    }
                }
            }
            _ => {
                expected(node, "a mode", FORMS, diagnostics);
                None
            }
        }
    }
}
