//! Which rules apply to a request, to whom they count it, and under which limits.

use smallvec::SmallVec;

use super::Policy;
use super::request_view::Asked;
use super::rule::{Barred, HitMode, Ruling};
use super::trie::Found;
use crate::request::{Request, RequestError};
use slidegate_store::Key;
use slidegate_store::MAX_LIMITS;

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
    /// Which of the rule's routes it came by, as they are counted; 0 unless [routes are told apart](Policy::with_routes).
    pub route: u32,
    /// Whether it lacks an attribute of the rule's key, and shares one subject with all that do.
    pub lacks_key: bool,
    /// Why a rule that only looks on would refuse the request without asking its limits, which are not asked then.
    pub would_bar: Option<Barred>,
}

impl<'r> Hit<'r> {
    /// Of a rule that looks on and would bar.
    fn barring(rule: usize, key: Key<'r>, why: Barred, route: u32) -> Self {
        Self { rule, terms: 0, key, mode: HitMode::Observed, route, lacks_key: false, would_bar: Some(why) }
    }

    /// Whether its limits are asked in this way.
    #[inline]
    pub fn asks(&self, mode: HitMode) -> bool {
        self.mode == mode && self.would_bar.is_none()
    }
}

impl Policy {
    /// The rules that apply to a request, with the subject and the limits of each.
    pub fn choose<'r>(&self, request: &'r Request<'_>) -> Result<Choice<'r>, RequestError> {
        self.choose_and_skip(request, |_| {})
    }

    /// [`Policy::choose`], which also reports every rule that is skipped because the request lacks an attribute of its key.
    #[inline]
    pub fn choose_and_skip<'r>(
        &self,
        request: &'r Request<'_>,
        mut skip: impl FnMut(usize),
    ) -> Result<Choice<'r>, RequestError> {
        let asked = Asked::new(request, self.paths)?;
        let found;
        let candidates = match asked.first().path {
            None => &*self.anywhere,
            Some(_) => {
                found = self.candidates(&asked);
                &*found
            }
        };
        let mut hits = SmallVec::new();
        for index in candidates {
            let index = *index as usize;
            let rule = &self.rules[index];
            if !rule.is_for(&asked)? {
                continue;
            }
            match rule.ruling(&asked)? {
                Ruling::Passes => {}
                Ruling::Skips => skip(index),
                Ruling::Bars(why) => return Ok(Choice::Barred { rule: index, why }),
                Ruling::Limits { terms, key, mode, lacks_key } => {
                    let route = rule.route_of(&asked, self.has_routes);
                    hits.push(Hit { rule: index, terms, key, mode, route, lacks_key, would_bar: None });
                }
                Ruling::WouldBar { key, why } => {
                    hits.push(Hit::barring(index, key, why, rule.route_of(&asked, self.has_routes)));
                }
            }
        }
        self.check_bound(&hits)?;
        Ok(Choice::Hits(hits))
    }

    /// Whether the rules that were hit are for a request however its path is read: what is given back to them was charged to them.
    pub fn hits_surely(&self, request: &Request<'_>, hits: &[Hit<'_>]) -> Result<bool, RequestError> {
        let asked = Asked::new(request, self.paths)?;
        for hit in hits {
            if !self.rules[hit.rule].is_surely_for(&asked)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a rule looks at this attribute of requests.
    pub fn reads(&self, attribute: &str) -> bool {
        self.rules.iter().any(|rule| rule.reads(attribute))
    }

    /// What the rule of this name says, whatever its `match`; `None` if there is none.
    pub fn choose_rule<'r>(
        &self,
        name: &str,
        request: &'r Request<'_>,
    ) -> Result<Option<Choice<'r>>, RequestError> {
        let Some(&index) = self.by_name.get(name) else { return Ok(None) };
        let (rule, asked) = (&self.rules[index], Asked::new(request, self.paths)?);
        let route = || if self.has_routes { rule.first_route(&asked) } else { 0 };
        let hit = match rule.ruling(&asked)? {
            Ruling::Passes | Ruling::Skips => None,
            Ruling::Bars(why) => return Ok(Some(Choice::Barred { rule: index, why })),
            Ruling::Limits { terms, key, mode, lacks_key } => {
                Some(Hit { rule: index, terms, key, mode, route: route(), lacks_key, would_bar: None })
            }
            Ruling::WouldBar { key, why } => Some(Hit::barring(index, key, why, route())),
        };
        Ok(Some(Choice::Hits(hit.into_iter().collect())))
    }

    /// Whom a rule would count a request for, if it can be told, and by which of its routes it came.
    pub fn key_and_route_of<'r>(&self, rule: usize, request: &'r Request<'_>) -> (Option<Key<'r>>, u32) {
        let rule = &self.rules[rule];
        let Ok(asked) = Asked::new(request, self.paths) else { return (None, rule.templates.len() as u32) };
        let subject = rule.key.subject(&asked, &rule.templates);
        (subject.ok().map(|subject| subject.key), rule.first_route(&asked))
    }

    /// The rules whose path fits by any reading, in the order of the file.
    fn candidates(&self, asked: &Asked<'_, '_>) -> Found {
        let mut found = Found::from_slice(&self.anywhere);
        if let Some(path) = asked.first().path {
            self.trie.collect(path, &mut found);
        }
        if !asked.is_single() {
            self.add_candidates(asked, &mut found);
        }
        if found.len() > 1 {
            found.sort_unstable();
            found.dedup();
        }
        found
    }

    /// The rules whose path fits by a reading other than the first.
    #[cold]
    fn add_candidates(&self, asked: &Asked<'_, '_>, found: &mut Found) {
        let others = asked.readings().skip(1).filter_map(|reading| reading.path);
        others.for_each(|path| self.trie.collect(path, found));
    }

    /// A store takes only so many limits at once; enforced and observed ones are asked apart.
    #[inline]
    fn check_bound(&self, hits: &[Hit<'_>]) -> Result<(), RequestError> {
        // One rule never has more.
        if hits.len() < 2 {
            return Ok(());
        }
        for mode in [HitMode::Enforced, HitMode::Observed] {
            let of_mode = hits.iter().filter(|hit| hit.asks(mode));
            let limits = of_mode.map(|hit| self.rules[hit.rule].terms()[hit.terms].limits().len()).sum();
            if limits > MAX_LIMITS {
                return Err(RequestError::TooManyLimits { limits });
            }
        }
        Ok(())
    }
}
