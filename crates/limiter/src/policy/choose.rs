//! Which rules apply to a request, to whom they count it, and under which limits.

use smallvec::SmallVec;

use super::Policy;
use super::asked::Asked;
use super::path::Path;
use super::rule::{Barred, HitMode, Ruling};
use super::trie::Found;
use crate::key::Key;
use crate::request::{Request, RequestError};
use crate::store::MAX_LIMITS;

/// What a policy says to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice<'r> {
    /// It is refused at once.
    Barred {
        /// The index of the rule that refuses it: the first of the file that does.
        rule: usize,
        /// Why.
        why: Barred,
    },
    /// The rules that limit it, in the order of the file; none: nothing does.
    Hits(SmallVec<[Hit<'r>; 2]>),
}

/// A rule that applies to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hit<'r> {
    /// The index of the rule in [`Policy::rules`].
    pub rule: usize,
    /// The index of its limits in [`Rule::terms`](super::Rule::terms).
    pub terms: usize,
    /// Whom it counts for.
    pub key: Key<'r>,
    /// Whether it refuses.
    pub mode: HitMode,
    /// Which of the rule's routes it came by, as they are counted; 0 unless the rule is observed.
    pub route: u32,
}

impl Policy {
    /// The rules that apply to a request, with the subject and the limits of each.
    pub fn choose<'r>(&self, request: &'r Request<'_>) -> Result<Choice<'r>, RequestError> {
        let asked = Asked::new(request);
        let found;
        let candidates = match asked.path() {
            None => &*self.anywhere,
            Some(path) => {
                found = self.candidates(path);
                &*found
            }
        };
        let mut hits = SmallVec::new();
        for index in candidates {
            let index = *index as usize;
            let rule = &self.rules[index];
            if !rule.matches.hold(&asked, &rule.templates)? {
                continue;
            }
            match rule.ruling(&asked)? {
                Ruling::Passes => {}
                Ruling::Bars(why) => return Ok(Choice::Barred { rule: index, why }),
                Ruling::Limits { terms, key, mode } => {
                    let route = rule.route_of(&asked);
                    hits.push(Hit { rule: index, terms, key, mode, route });
                }
            }
        }
        self.check_bound(&hits)?;
        Ok(Choice::Hits(hits))
    }

    /// What the rule of this name says, whatever its `match`; `None` if there is none.
    pub fn choose_rule<'r>(
        &self,
        name: &str,
        request: &'r Request<'_>,
    ) -> Result<Option<Choice<'r>>, RequestError> {
        let Some(&index) = self.by_name.get(name) else { return Ok(None) };
        let asked = Asked::new(request);
        Ok(Some(match self.rules[index].ruling(&asked)? {
            Ruling::Passes => Choice::Hits(SmallVec::new()),
            Ruling::Bars(why) => Choice::Barred { rule: index, why },
            Ruling::Limits { terms, key, mode } => {
                let mut hits = SmallVec::new();
                let rule = &self.rules[index];
                let route = if rule.tally().is_some() { rule.first_route(&asked) } else { 0 };
                hits.push(Hit { rule: index, terms, key, mode, route });
                Choice::Hits(hits)
            }
        }))
    }

    /// Whom a rule would count a request for, if it can be told.
    pub(crate) fn key_of<'r>(&self, rule: usize, request: &'r Request<'_>) -> Option<Key<'r>> {
        let rule = &self.rules[rule];
        rule.key.subject(&Asked::new(request), &rule.templates).ok().map(|subject| subject.key)
    }

    /// The rules whose path fits, in the order of the file.
    fn candidates(&self, path: &Path<'_>) -> Found {
        let mut found = Found::from_slice(&self.anywhere);
        self.trie.collect(path, &mut found);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// A store takes only so many limits at once; enforced and observed ones are asked apart.
    #[inline]
    fn check_bound(&self, hits: &[Hit<'_>]) -> Result<(), RequestError> {
        // One rule never has more.
        if hits.len() < 2 {
            return Ok(());
        }
        for mode in [HitMode::Enforced, HitMode::Observed] {
            let of_mode = hits.iter().filter(|hit| hit.mode == mode);
            let limits = of_mode.map(|hit| self.rules[hit.rule].terms()[hit.terms].limits().len()).sum();
            if limits > MAX_LIMITS {
                return Err(RequestError::TooManyLimits { limits });
            }
        }
        Ok(())
    }
}
