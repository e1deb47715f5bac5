//! Lookup of subjects by their attributes, for inspection and resets.

use super::condition::{any_holds, first_that_holds};
use super::file::Missing;
use super::request_view::RequestView;
use super::rule::HitMode;
use super::subject::{KeyCoverage, KeyText, RequestSubject};
use super::{Policy, Rule};
use crate::request::{Request, RequestError};
use slidegate_store::Key;

/// Subject of a rule that a set of attributes identifies, whether or not the rule's `match` and
/// lists fit them.
#[derive(Debug)]
pub struct RuleSubject<'r> {
    /// The index of the rule.
    pub rule: usize,
    /// Index of the limit set that applies to these attributes.
    pub limit_set: usize,
    /// Key that the rule counts it under.
    pub key: Key<'r>,
    /// Parts of the key as text.
    pub parts: Vec<KeyText>,
    /// Whether the rule enforces its limits for it.
    pub mode: HitMode,
    /// List of the rule that matches it, if one does.
    pub list: Option<ListMatch>,
}

/// List of a rule that matches a request, so that the limits do not apply.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ListMatch {
    /// Allow list: never limited.
    Allow,
    /// Deny list: always refused.
    Deny,
}

impl Policy {
    /// Subject of the named rule, or the subjects of all rules whose key the attributes fill.
    ///
    /// A subject that is shared by all requests, or by all that lack an attribute, is found by the
    /// name of its rule only.
    pub fn lookup<'r>(
        &self,
        rule: Option<&str>,
        request: &'r Request<'_>,
    ) -> Result<Vec<RuleSubject<'r>>, RequestError> {
        let view = RequestView::new(request, self.paths)?;
        let mut subjects = Vec::new();
        match rule {
            Some(name) => {
                if let Some(&index) = self.by_name.get(name) {
                    subjects.extend(self.rules[index].lookup(index, &view, LookupBy::Name)?);
                }
            }
            None => {
                for (index, rule) in self.rules.iter().enumerate() {
                    subjects.extend(rule.lookup(index, &view, LookupBy::Key)?);
                }
            }
        }
        Ok(subjects)
    }
}

/// Criterion of a lookup.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LookupBy {
    Name,
    Key,
}

impl Rule {
    fn lookup<'r>(
        &self,
        index: usize,
        view: &RequestView<'r, '_>,
        by: LookupBy,
    ) -> Result<Option<RuleSubject<'r>>, RequestError> {
        if by == LookupBy::Key && self.key.parts.is_empty() {
            return Ok(None);
        }
        let subject = self.key.subject(view, &self.templates)?;
        if !self.is_clear(&subject, view) {
            return Err(self.ambiguous());
        }
        let RequestSubject { key, coverage, .. } = subject;
        let is_shared = by == LookupBy::Name && self.entry.missing() == Missing::Shared;
        if coverage == KeyCoverage::NotAll && !is_shared {
            return Ok(None);
        }
        let list = if any_holds(&self.deny, view, &self.templates)? {
            Some(ListMatch::Deny)
        } else {
            first_that_holds(&self.allow, view, &self.templates)?.map(|_| ListMatch::Allow)
        };
        let mode = self.mode_for(view, &key)?;
        let parts = self.key.read(&key);
        Ok(Some(RuleSubject {
            rule: index,
            limit_set: self.limit_set_for(view, mode)?,
            key,
            parts,
            mode,
            list,
        }))
    }
}
