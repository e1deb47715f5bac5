//! Conditions and variables of a limit, as a rule says them.

use std::collections::BTreeSet;

use slidegate::policy::file::Span;

use super::super::attribute::{self, Asked};
use super::super::policy_writer::Test;
use super::super::quote::shown;
use super::super::warnings::Warnings;
use super::condition::{self, Clause, Wanted};
use super::limits::Limit;

/// Attributes that have a name of their own here.
const RENAMED: [(&str, &str); 2] = [("req.method", "method"), ("req.path", "path")];

#[derive(Default)]
pub(super) struct Said {
    namespace: String,
    pub(super) matches: Vec<(String, Test)>,
    pub(super) allow: Vec<(String, Test)>,
    pub(super) key: Vec<String>,
    /// What a rule cannot say, and where it stands.
    pub(super) unsaid: Vec<(Span, String)>,
    /// For the top of the file.
    pub(super) notes: BTreeSet<String>,
}

pub(super) fn of(limit: &Limit, warnings: &mut Warnings) -> Said {
    let mut said = Said { namespace: limit.namespace.clone(), ..Said::default() };
    for (text, at) in &limit.conditions {
        let clauses = condition::parse(text).and_then(|clauses| {
            clauses.into_iter().try_for_each(|clause| said.clause(clause, *at, warnings))
        });
        if let Err(why) = clauses {
            said.unsaid.push((*at, format!("`{}`: {why}", shown(text))));
        }
    }
    for (text, at) in &limit.variables {
        if let Err(why) = condition::variable(text).and_then(|name| said.variable(&name)) {
            said.unsaid.push((*at, format!("`{}`: {why}", shown(text))));
        }
    }
    // That an attribute is there goes without saying where more is asked of it.
    let more = |(name, test): &&(String, Test)| !is_present(name, test);
    let asked_more: Vec<String> = said.matches.iter().filter(more).map(|(name, _)| name.clone()).collect();
    said.matches.retain(|(name, test)| !is_present(name, test) || !asked_more.contains(name));
    said
}

fn is_present(name: &str, test: &Test) -> bool {
    attribute::test(name, Asked::Present).is_ok_and(|present| present.test == *test)
}

impl Said {
    fn clause(&mut self, clause: Clause, at: Span, warnings: &mut Warnings) -> Result<(), String> {
        let Clause { attribute, wanted, negated } = clause;
        let name = self.renamed(&attribute);
        let test = match &wanted {
            Wanted::Is(texts) => Test::Is(self.texts(&name, texts, Asked::Is, at, warnings)?),
            Wanted::StartsWith(texts) => {
                Test::Prefix(self.texts(&name, texts, Asked::StartsWith, at, warnings)?)
            }
            Wanted::Present => attribute::test(&name, Asked::Present)?.test,
        };
        if negated {
            let present = attribute::test(&name, Asked::Present)?.test;
            self.ask(&name, present)?;
            self.allow.push((name, test));
            return Ok(());
        }
        self.ask(&name, test)
    }

    /// An attribute is asked for one thing; that it is there goes with everything.
    fn ask(&mut self, name: &str, test: Test) -> Result<(), String> {
        let is_present = |test: &Test| is_present(name, test);
        let others = self.matches.iter().filter(|(known, other)| *known == name && !is_present(other));
        if !is_present(&test) && others.clone().any(|(_, other)| *other != test) {
            return Err(format!("a rule asks one thing of `{name}`, not two"));
        }
        let entry = (name.to_owned(), test);
        if !self.matches.contains(&entry) {
            self.matches.push(entry);
        }
        Ok(())
    }

    fn texts<'t>(
        &mut self,
        name: &str,
        texts: &'t [String],
        asked: impl Fn(&'t str) -> Asked<'t>,
        at: Span,
        warnings: &mut Warnings,
    ) -> Result<Vec<String>, String> {
        let mut all = Vec::new();
        for text in texts {
            let said = attribute::test(name, asked(text))?;
            if let Some((what, remedy)) = said.warning {
                warnings.warn(at, what, remedy);
            }
            let (Test::Is(texts) | Test::Prefix(texts)) = said.test;
            all.extend(texts);
        }
        self.notes.extend(attribute::meaning(name).map(str::to_owned));
        Ok(all)
    }

    fn variable(&mut self, written: &str) -> Result<(), String> {
        let name = self.renamed(written);
        attribute::check_name(&name)?;
        self.notes.extend(attribute::meaning(&name).map(str::to_owned));
        if !self.key.contains(&name) {
            self.key.push(name);
        }
        Ok(())
    }

    fn renamed(&mut self, written: &str) -> String {
        let Some((_, name)) = RENAMED.iter().find(|(old, _)| *old == written) else {
            return written.to_owned();
        };
        self.notes.insert(format!(
            "`{written}` is called `{name}` here: requests have to say it so (in Envoy by `descriptor_key: {name}`)."
        ));
        (*name).to_owned()
    }

    /// The same for limits that are of one rule, in whatever order they say it.
    pub(super) fn signature(&self) -> String {
        let sorted = |tests: &[(String, Test)]| {
            let mut shown: Vec<String> =
                tests.iter().map(|(name, test)| format!("{name:?}: {test:?}")).collect();
            shown.sort();
            shown
        };
        let mut key = self.key.clone();
        key.sort();
        format!("{:?} {:?} {:?} {key:?}", self.namespace, sorted(&self.matches), sorted(&self.allow))
    }

    /// What a rule may be called: `method_GET-user`.
    pub(super) fn summary(&self) -> String {
        let test = |(name, test): &(String, Test)| match test {
            Test::Is(texts) | Test::Prefix(texts) if texts.iter().any(|text| !text.is_empty()) => {
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
