//! The subjects that attributes name, for those who look after them rather than limit them.

use super::condition::{any_holds, first_that_holds};
use super::file::Missing;
use super::request_view::Asked;
use super::rule::HitMode;
use super::subject::{Found, KeyText, Subject};
use super::{Policy, Rule};
use crate::request::{Request, RequestError};
use slidegate_store::Key;

/// A rule's subject, whatever the rule's `match` and lists say of the attributes that name it.
#[derive(Debug)]
pub struct Named<'r> {
    /// The index of the rule.
    pub rule: usize,
    /// The index of the limits that hold for these attributes.
    pub terms: usize,
    /// Key that the rule counts it under.
    pub key: Key<'r>,
    /// The same as text, part by part.
    pub shown: Vec<KeyText>,
    /// Whether the rule refuses.
    pub mode: HitMode,
    /// List of the rule that it is on, if it is.
    pub listed: Option<Listed>,
}

/// Which list of a rule a request is on, so that its limits do not matter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Listed {
    /// It is never limited.
    Allow,
    /// It is always refused.
    Deny,
}

impl Policy {
    /// The subject of the rule of this name, or those of all rules whose key the attributes fill. What counts for
    /// everybody, or for everybody who lacks something, is found by name only.
    pub fn named<'r>(
        &self,
        rule: Option<&str>,
        request: &'r Request<'_>,
    ) -> Result<Vec<Named<'r>>, RequestError> {
        let asked = Asked::new(request, self.paths)?;
        let mut named = Vec::new();
        match rule {
            Some(name) => {
                if let Some(&index) = self.by_name.get(name) {
                    named.extend(self.rules[index].named(index, &asked, Wanted::ByName)?);
                }
            }
            None => {
                for (index, rule) in self.rules.iter().enumerate() {
                    named.extend(rule.named(index, &asked, Wanted::ByKey)?);
                }
            }
        }
        Ok(named)
    }
}

/// How a subject is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    ByName,
    ByKey,
}

impl Rule {
    fn named<'r>(
        &self,
        index: usize,
        asked: &Asked<'r, '_>,
        wanted: Wanted,
    ) -> Result<Option<Named<'r>>, RequestError> {
        if wanted == Wanted::ByKey && self.key.parts.is_empty() {
            return Ok(None);
        }
        let subject = self.key.subject(asked, &self.templates)?;
        if !self.is_clear(&subject, asked) {
            return Err(self.ambiguous());
        }
        let Subject { key, found, .. } = subject;
        let counts_together = wanted == Wanted::ByName && self.written.missing == Missing::Shared;
        if found == Found::NotAll && !counts_together {
            return Ok(None);
        }
        let listed = if any_holds(&self.deny, asked, &self.templates)? {
            Some(Listed::Deny)
        } else {
            first_that_holds(&self.allow, asked, &self.templates)?.map(|_| Listed::Allow)
        };
        let mode = self.mode_for(asked, &key)?;
        let shown = self.key.read(&key);
        Ok(Some(Named { rule: index, terms: self.terms_for(asked, mode)?, key, shown, mode, listed }))
    }
}
