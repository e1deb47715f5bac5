//! What a gate tells of every decision.

use std::sync::Arc;

use slidegate_core::{Decision, Limit, Outcome, Source, Verdict};

use super::denial::{Denial, DeniedLimit};
use super::lines::{LineTally, Said, counter};
use super::requests::Came;
use super::threads::Place;
use super::top::Subject;
use super::{Hook, Naming, Observer};
use crate::key::Key;
use crate::policy::{Barred, Hit, HitMode, Policy, Rule};

/// A request, as far as it is told of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told<'a> {
    pub(crate) cost: u64,
    pub(crate) id: Option<&'a str>,
}

/// What some limits said, among all that were decided together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard<'v> {
    decisions: &'v [Decision],
    is_allowed: bool,
    source: Source,
    decided_at_ms: u64,
}

impl<'v> Heard<'v> {
    /// All of them.
    #[inline]
    pub(crate) fn all(verdict: &'v Verdict) -> Self {
        Self {
            decisions: &verdict.decisions,
            is_allowed: verdict.is_allowed(),
            source: verdict.source,
            decided_at_ms: verdict.decided_at_ms,
        }
    }

    /// Those of one of several demands.
    pub(crate) fn some(verdict: &'v Verdict, decisions: &'v [Decision]) -> Self {
        Self { decisions, ..Self::all(verdict) }
    }

    fn is_known(&self) -> bool {
        matches!(self.source, Source::Store | Source::Local)
    }
}

/// What limits of one subject came to; the last counts most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Noticed {
    Nothing,
    Near,
    Denied,
}

/// Who is limited, and how.
#[derive(Clone, Copy)]
struct Of<'a> {
    rule: Option<&'a Rule>,
    naming: &'a Arc<Naming>,
    names: &'a [Box<str>],
    limits: &'a [Limit],
    key: &'a Key<'a>,
    mode: HitMode,
}

impl Observer {
    #[inline]
    pub(crate) fn came(&self, came: Came) {
        self.requests.count(Place::here(), came);
    }

    /// What came of a request to which so many rules or limits had something to say.
    #[inline]
    pub(crate) fn decided(&self, limits: usize, cost: u64, heard: &Heard<'_>) {
        self.came(match (heard.is_allowed, limits, cost) {
            (false, ..) => Came::Denied,
            (true, 0, _) => Came::Unlimited,
            (true, _, 0) => Came::Looked,
            (true, ..) => Came::Allowed,
        });
    }

    /// What rules said that were asked together, in this order.
    #[inline]
    pub(crate) fn rules<'h, 'k: 'h>(
        &self,
        policy: &Policy,
        told: &Told<'_>,
        mode: HitMode,
        hits: impl Iterator<Item = &'h Hit<'k>>,
        mut heard: Heard<'_>,
    ) {
        for hit in hits {
            let rule = &policy.rules()[hit.rule];
            let limits = rule.terms()[hit.terms].limits().len();
            let (own, rest) = heard.decisions.split_at(limits.min(heard.decisions.len()));
            self.rule(rule, told, (mode, hit), &Heard { decisions: own, ..heard });
            heard.decisions = rest;
        }
    }

    /// What one rule said.
    #[inline(always)]
    pub(crate) fn rule(
        &self,
        rule: &Rule,
        told: &Told<'_>,
        (mode, hit): (HitMode, &Hit<'_>),
        heard: &Heard<'_>,
    ) {
        let Some(tally) = rule.tally() else { return };
        let (limits, lines) = (rule.terms()[hit.terms].limits(), tally.lines(hit.terms, hit.route));
        let mut noticed = Noticed::Nothing;
        match (limits, heard.decisions, lines) {
            // Without a loop for most.
            ([limit], [decision], [line]) => noticed = self.count(line, mode, (limit, decision), told, heard),
            _ => {
                for ((limit, decision), line) in limits.iter().zip(heard.decisions).zip(lines) {
                    noticed = noticed.max(self.count(line, mode, (limit, decision), told, heard));
                }
            }
        }
        let subject = Subject { naming: tally.naming(), key: &hit.key };
        if self.notice(subject, mode, heard, noticed) {
            self.tell_rule(rule, told, (mode, hit), heard);
        }
    }

    /// What a limit said that came along.
    #[inline]
    pub(crate) fn ad_hoc(&self, told: &Told<'_>, key: &Key<'_>, limit: &Limit, heard: &Heard<'_>) {
        let (mode, [decision]) = (HitMode::Enforced, heard.decisions) else { return };
        let noticed = self.count(&self.ad_hoc, mode, (limit, decision), told, heard);
        if self.notice(Subject { naming: &self.ad_hoc_naming, key }, mode, heard, noticed) {
            let limits = std::slice::from_ref(limit);
            self.tell(
                told,
                &Of { rule: None, naming: &self.ad_hoc_naming, names: &[], limits, key, mode },
                heard,
            );
        }
    }

    /// A rule that refuses without asking its limits.
    #[cold]
    pub(crate) fn barred(
        &self,
        told: &Told<'_>,
        (rule, why): (&Rule, Barred),
        key: Option<&Key<'_>>,
        now_ms: u64,
    ) {
        self.came(Came::Barred);
        let (Some(hook), Some(tally)) = (self.hook(), rule.tally()) else { return };
        hook(&Denial {
            observer: self,
            rule: Some(rule),
            naming: tally.naming(),
            limit: None,
            mode: HitMode::Enforced,
            key,
            cost: told.cost,
            retry_after_ms: None,
            reset_after_ms: None,
            decided_at_ms: now_ms,
            source: Source::Store,
            barred: Some(why),
            request_id: told.id,
        });
    }

    #[inline(always)]
    fn count(
        &self,
        line: &LineTally,
        mode: HitMode,
        (limit, decision): (&Limit, &Decision),
        told: &Told<'_>,
        heard: &Heard<'_>,
    ) -> Noticed {
        let place = Place::here();
        let said = match decision.outcome {
            Outcome::RetryAfter(_) | Outcome::Never => Said::Denied,
            Outcome::Fits if told.cost == 0 => Said::Looked,
            Outcome::Fits if heard.is_allowed => Said::Allowed,
            Outcome::Fits => Said::Uncharged,
        };
        line.add(place, counter(mode, said));
        match said {
            Said::Denied => Noticed::Denied,
            Said::Allowed if self.is_near(limit, decision) && heard.is_known() => {
                line.add(place, counter(mode, Said::NearMiss));
                Noticed::Near
            }
            _ => Noticed::Nothing,
        }
    }

    /// Puts subjects on their lists. Says whether a denial is to be told.
    #[inline(always)]
    fn notice(&self, subject: Subject<'_>, mode: HitMode, heard: &Heard<'_>, noticed: Noticed) -> bool {
        let top = match noticed {
            Noticed::Nothing => return false,
            Noticed::Near => &self.near,
            Noticed::Denied => &self.denied,
        };
        if mode == HitMode::Enforced {
            top.add(subject, heard.decided_at_ms);
        }
        noticed == Noticed::Denied && self.hook().is_some()
    }

    /// That a rule refuses.
    #[cold]
    fn tell_rule(&self, rule: &Rule, told: &Told<'_>, (mode, hit): (HitMode, &Hit<'_>), heard: &Heard<'_>) {
        let (terms, Some(tally)) = (&rule.terms()[hit.terms], rule.tally()) else { return };
        let (names, limits, key) = (terms.names(), terms.limits(), &hit.key);
        self.tell(told, &Of { rule: Some(rule), naming: tally.naming(), names, limits, key, mode }, heard);
    }

    #[cold]
    fn tell(&self, told: &Told<'_>, of: &Of<'_>, heard: &Heard<'_>) {
        if let Some(hook) = self.hook.get() {
            hook(&self.denial(told, of, heard));
        }
    }

    /// Who is to be told of a denial.
    #[inline]
    fn hook(&self) -> Option<&Hook> {
        self.hook.get().filter(|_| self.hearing.wants())
    }

    fn denial<'a>(&'a self, told: &Told<'a>, of: &Of<'a>, heard: &Heard<'_>) -> Denial<'a> {
        let at = match heard.decisions {
            [_] => 0,
            several => longest(several),
        };
        let retry_after_ms = match heard.decisions[at].outcome {
            Outcome::RetryAfter(ms) => Some(ms),
            Outcome::Fits | Outcome::Never => None,
        };
        let reset_after_ms = heard.decisions.iter().map(|one| one.reset_after_ms).max();
        Denial {
            observer: self,
            rule: of.rule,
            naming: of.naming,
            limit: Some(DeniedLimit { name: of.names.get(at).map(|name| &**name), limit: &of.limits[at] }),
            mode: of.mode,
            key: Some(of.key),
            cost: told.cost,
            retry_after_ms,
            reset_after_ms: reset_after_ms.filter(|_| heard.is_known()),
            decided_at_ms: heard.decided_at_ms,
            source: heard.source,
            barred: None,
            request_id: told.id,
        }
    }
}

/// Which of several decisions has to be waited for longest. One that never fits goes before all others.
fn longest(decisions: &[Decision]) -> usize {
    let wait = |decision: &Decision| match decision.outcome {
        Outcome::Fits => (0, 0),
        Outcome::RetryAfter(ms) => (1, ms),
        Outcome::Never => (2, 0),
    };
    let each = decisions.iter().enumerate();
    each.max_by_key(|(_, decision)| wait(decision)).map_or(0, |(at, _)| at)
}
