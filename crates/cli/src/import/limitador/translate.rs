//! Translation of a limit's conditions and variables to those of a rule.

use std::collections::BTreeSet;

use slidegate::policy::file::Span;

use super::super::attribute::{self, AttributeTest};
use super::super::warnings::Warnings;
use super::condition::{self, Clause};
use super::limits::LimitadorLimit;
use crate::policy_writer::ValueTest;
use crate::policy_writer::quote::excerpt;

/// Attributes with another name in a policy.
const RENAMED: [(&str, &str); 2] = [("req.method", "method"), ("req.path", "path")];

/// Conditions and key of a rule, and what could not be translated.
#[derive(Default)]
pub(super) struct Translation {
    namespace: String,
    pub(super) matches: Vec<(String, ValueTest)>,
    pub(super) allow: Vec<(String, ValueTest)>,
    pub(super) key: Vec<String>,
    /// Parts that a rule cannot express, with their locations.
    pub(super) failures: Vec<(Span, String)>,
    /// Comments for the top of the policy.
    pub(super) notes: BTreeSet<String>,
}

pub(super) fn translate(limit: &LimitadorLimit, warnings: &mut Warnings) -> Translation {
    let mut translation = Translation { namespace: limit.namespace.clone(), ..Translation::default() };
    for (text, at) in &limit.conditions {
        let clauses = condition::parse(text).and_then(|clauses| {
            clauses.iter().try_for_each(|clause| translation.clause(clause, *at, warnings))
        });
        if let Err(why) = clauses {
            translation.failures.push((*at, format!("`{}`: {why}", excerpt(text))));
        }
    }
    for (text, at) in &limit.variables {
        if let Err(why) = condition::variable(text).and_then(|name| translation.variable(&name)) {
            translation.failures.push((*at, format!("`{}`: {why}", excerpt(text))));
        }
    }
    // A test of the value implies that the attribute is present.
    let tests_value = |(name, test): &&(String, ValueTest)| !is_present(name, test);
    let names: Vec<String> =
        translation.matches.iter().filter(tests_value).map(|(name, _)| name.clone()).collect();
    translation.matches.retain(|(name, test)| !is_present(name, test) || !names.contains(name));
    translation
}

fn is_present(name: &str, test: &ValueTest) -> bool {
    attribute::test(name, &AttributeTest::Present).is_ok_and(|present| present.test == *test)
}

impl Translation {
    fn clause(&mut self, clause: &Clause, at: Span, warnings: &mut Warnings) -> Result<(), String> {
        let name = self.renamed(&clause.attribute);
        let translated = attribute::test(&name, &clause.test)?;
        for (what, remedy) in translated.warnings {
            warnings.warn(at, what, remedy);
        }
        if clause.test != AttributeTest::Present {
            self.notes.extend(attribute::meaning(&name).map(str::to_owned));
        }
        if clause.negated {
            let present = attribute::test(&name, &AttributeTest::Present)?.test;
            self.add(&name, present)?;
            self.allow.push((name, translated.test));
            return Ok(());
        }
        self.add(&name, translated.test)
    }

    /// Adds a test. An attribute has one test, besides that it is present.
    fn add(&mut self, name: &str, test: ValueTest) -> Result<(), String> {
        let is_present = |test: &ValueTest| is_present(name, test);
        let others =
            self.matches.iter().filter(|(other_name, other)| *other_name == name && !is_present(other));
        if !is_present(&test) && others.clone().any(|(_, other)| *other != test) {
            return Err(format!("a rule can have only one condition on `{name}`"));
        }
        let entry = (name.to_owned(), test);
        if !self.matches.contains(&entry) {
            self.matches.push(entry);
        }
        Ok(())
    }

    fn variable(&mut self, name: &str) -> Result<(), String> {
        let name = self.renamed(name);
        attribute::check_name(&name)?;
        self.notes.extend(attribute::meaning(&name).map(str::to_owned));
        if !self.key.contains(&name) {
            self.key.push(name);
        }
        Ok(())
    }

    fn renamed(&mut self, name: &str) -> String {
        let Some((old, new)) = RENAMED.iter().find(|(old, _)| *old == name) else {
            return name.to_owned();
        };
        self.notes.insert(format!(
            "`{old}` is `{new}` here: requests must use that name (in Envoy, `descriptor_key: {new}`)."
        ));
        (*new).to_owned()
    }

    /// Text that is equal for limits of one rule, whatever the order of their conditions.
    pub(super) fn signature(&self) -> String {
        let sorted = |tests: &[(String, ValueTest)]| {
            let mut lines: Vec<String> =
                tests.iter().map(|(name, test)| format!("{name:?}: {test:?}")).collect();
            lines.sort();
            lines
        };
        let mut key = self.key.clone();
        key.sort();
        format!("{:?} {:?} {:?} {key:?}", self.namespace, sorted(&self.matches), sorted(&self.allow))
    }

    /// Text for the name of the rule: `method_GET-user`.
    pub(super) fn summary(&self) -> String {
        let test = |(name, test): &(String, ValueTest)| match test {
            ValueTest::Is(texts) | ValueTest::Prefix(texts) if texts.iter().any(|text| !text.is_empty()) => {
                format!("{name}_{}", texts.join("_"))
            }
            _ => name.clone(),
        };
        let tests = self.matches.iter().map(test);
        let exceptions = self.allow.iter().map(|one| format!("not_{}", test(one)));
        let all: Vec<String> = tests.chain(exceptions).chain(self.key.iter().cloned()).collect();
        if all.is_empty() { "all".to_owned() } else { all.join("-") }
    }
}
