//! Matching of requests: which rules apply, with which subject and which limits.

use smallvec::SmallVec;

use super::Policy;
use super::request_view::RequestView;
use super::rule::{Blocked, HitMode, Ruling};
use super::trie::RuleIndexes;
use crate::request::{Request, RequestError};
use slidegate_store::Key;
use slidegate_store::MAX_LIMITS;

/// Rules that a policy selects for a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice<'r> {
    /// The request is blocked.
    Blocked {
        /// Index of the first rule that blocks it.
        rule: usize,
        /// Reason.
        reason: Blocked,
    },
    /// Rules that limit the request, in the order of the file. Empty: nothing limits it.
    Hits(SmallVec<[Hit<'r>; 2]>),
}

/// Rule that applies to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hit<'r> {
    /// Index of the rule in [`Policy::rules`].
    pub rule: usize,
    /// Index of the limit set in [`Rule::limit_sets`](super::Rule::limit_sets).
    pub limit_set: usize,
    /// Subject that the request is charged to.
    pub key: Key<'r>,
    /// Whether the rule enforces its limits for this request.
    pub mode: HitMode,
    /// Index of the rule's route that matched; 0 unless [routes are tracked](Policy::with_routes).
    pub route: u32,
    /// Whether the request lacks an attribute of the key, so that it shares one subject with all
    /// others that do.
    pub lacks_key: bool,
    /// Reason why a rule in observe mode would block the request. Its limits are not consulted
    /// then.
    pub would_block: Option<Blocked>,
}

impl<'r> Hit<'r> {
    /// Hit of a rule that has nothing but its limits.
    #[inline]
    fn plain(rule: usize, key: Key<'r>) -> Self {
        let mode = HitMode::Enforce;
        Self { rule, limit_set: 0, key, mode, route: 0, lacks_key: false, would_block: None }
    }

    /// Hit of a rule in observe mode that would block the request.
    fn blocking(rule: usize, key: Key<'r>, reason: Blocked, route: u32) -> Self {
        Self {
            rule,
            limit_set: 0,
            key,
            mode: HitMode::Observe,
            route,
            lacks_key: false,
            would_block: Some(reason),
        }
    }

    /// Whether its limits are consulted in this mode.
    #[inline]
    pub fn consults(&self, mode: HitMode) -> bool {
        self.mode == mode && self.would_block.is_none()
    }
}

impl Policy {
    /// Rules that apply to a request, with the subject and the limit set of each.
    pub fn choose<'r>(&self, request: &'r Request<'_>) -> Result<Choice<'r>, RequestError> {
        self.choose_and_skip(request, |_| {})
    }

    /// Like [`Policy::choose`], and calls `skip` with every rule that is skipped because the
    /// request lacks an attribute of its key.
    #[inline]
    pub fn choose_and_skip<'r>(
        &self,
        request: &'r Request<'_>,
        mut skip: impl FnMut(usize),
    ) -> Result<Choice<'r>, RequestError> {
        let view = RequestView::new(request, self.paths)?;
        let found;
        let candidates = match view.first().path {
            None => &*self.anywhere,
            Some(_) => {
                found = self.candidates(&view);
                &*found
            }
        };
        let mut hits = SmallVec::new();
        for index in candidates {
            let index = *index as usize;
            let rule = &self.rules[index];
            if !rule.is_for(&view)? {
                continue;
            }
            match rule.ruling(&view)? {
                Ruling::Passes => {}
                Ruling::Skips => skip(index),
                Ruling::Blocks(reason) => return Ok(Choice::Blocked { rule: index, reason }),
                Ruling::Limits { limit_set, key, mode, lacks_key } => {
                    let route = rule.route_of(&view, self.has_routes);
                    hits.push(Hit { rule: index, limit_set, key, mode, route, lacks_key, would_block: None });
                }
                Ruling::WouldBlock { key, reason } => {
                    hits.push(Hit::blocking(index, key, reason, rule.route_of(&view, self.has_routes)));
                }
            }
        }
        self.check_bound(&hits)?;
        Ok(Choice::Hits(hits))
    }

    /// Hit of a policy whose only rule is for every request and has nothing but its limits, without
    /// a list: the same as [`Policy::choose`] finds. `None` if the policy is another one, or if the
    /// request lacks an attribute of the key.
    #[inline]
    pub fn choose_plain<'r>(&self, request: &'r Request<'_>) -> Result<Option<Hit<'r>>, RequestError> {
        if !self.is_plain {
            return Ok(None);
        }
        let view = RequestView::new(request, self.paths)?;
        let key = self.rules[0].plain_key(&view)?;
        Ok(key.map(|key| Hit::plain(0, key)))
    }

    /// Whether the rules of these hits match a request by every reading of its path, so that a
    /// refund goes to the subjects that were charged.
    pub fn hits_every_reading(&self, request: &Request<'_>, hits: &[Hit<'_>]) -> Result<bool, RequestError> {
        let view = RequestView::new(request, self.paths)?;
        for hit in hits {
            if !self.rules[hit.rule].is_for_every_reading(&view)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether any rule reads this attribute of requests.
    pub fn reads(&self, attribute: &str) -> bool {
        self.rules.iter().any(|rule| rule.reads(attribute))
    }

    /// Result of the named rule regardless of its `match`; `None` if there is no such rule.
    pub fn choose_rule<'r>(
        &self,
        name: &str,
        request: &'r Request<'_>,
    ) -> Result<Option<Choice<'r>>, RequestError> {
        let Some(&index) = self.by_name.get(name) else { return Ok(None) };
        let (rule, view) = (&self.rules[index], RequestView::new(request, self.paths)?);
        let route = || if self.has_routes { rule.first_route(&view) } else { 0 };
        let hit = match rule.ruling(&view)? {
            Ruling::Passes | Ruling::Skips => None,
            Ruling::Blocks(reason) => return Ok(Some(Choice::Blocked { rule: index, reason })),
            Ruling::Limits { limit_set, key, mode, lacks_key } => {
                Some(Hit { rule: index, limit_set, key, mode, route: route(), lacks_key, would_block: None })
            }
            Ruling::WouldBlock { key, reason } => Some(Hit::blocking(index, key, reason, route())),
        };
        Ok(Some(Choice::Hits(hit.into_iter().collect())))
    }

    /// Subject of a request under a rule, if it is known, and the index of its route.
    pub fn key_and_route_of<'r>(&self, rule: usize, request: &'r Request<'_>) -> (Option<Key<'r>>, u32) {
        let rule = &self.rules[rule];
        let Ok(view) = RequestView::new(request, self.paths) else {
            return (None, rule.templates.len() as u32);
        };
        let subject = rule.key.subject(&view, &rule.templates);
        (subject.ok().map(|subject| subject.key), rule.first_route(&view))
    }

    /// Rules whose path matches by any reading, in the order of the file.
    fn candidates(&self, view: &RequestView<'_, '_>) -> RuleIndexes {
        let mut found = RuleIndexes::from_slice(&self.anywhere);
        if let Some(path) = view.first().path {
            self.trie.collect(path, &mut found);
        }
        if !view.is_single() {
            self.add_candidates(view, &mut found);
        }
        if found.len() > 1 {
            found.sort_unstable();
            found.dedup();
        }
        found
    }

    /// Adds the rules whose path matches by a reading other than the first.
    #[cold]
    fn add_candidates(&self, view: &RequestView<'_, '_>, found: &mut RuleIndexes) {
        let others = view.readings().skip(1).filter_map(|reading| reading.path);
        others.for_each(|path| self.trie.collect(path, found));
    }

    /// Checks the number of limits: a store accepts so many in one call, which are all of one mode.
    #[inline]
    fn check_bound(&self, hits: &[Hit<'_>]) -> Result<(), RequestError> {
        // One rule never has more.
        if hits.len() < 2 {
            return Ok(());
        }
        for mode in [HitMode::Enforce, HitMode::Observe] {
            let of_mode = hits.iter().filter(|hit| hit.consults(mode));
            let limits =
                of_mode.map(|hit| self.rules[hit.rule].limit_sets()[hit.limit_set].limits().len()).sum();
            if limits > MAX_LIMITS {
                return Err(RequestError::TooManyLimits { limits });
            }
        }
        Ok(())
    }
}
