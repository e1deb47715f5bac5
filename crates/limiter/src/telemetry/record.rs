//! What a gate tells of every decision.

use std::sync::Arc;

use slidegate_core::{Decision, Limit, Outcome, Source, Verdict, Wait};

use super::denial::{Denial, DeniedLimit};
use super::requests::Came;
use super::series::{LineTally, Said, counter};
use super::thread_stripe::Place;
use super::top::Subject;
use super::{Hook, Naming, Observer};
use crate::gate::ActivePolicy;
use slidegate_policy::Request;
use slidegate_policy::{Barred, Hit, HitMode, Rule};
use slidegate_store::Key;

/// A request, as far as it is told of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told<'a> {
    cost: u64,
    id: Option<&'a str>,
    /// Where the thread counts that tells of it.
    place: Place,
}

impl<'a> Told<'a> {
    #[inline]
    pub(crate) fn new(cost: u64, id: Option<&'a str>) -> Self {
        Self { cost, id, place: Place::here() }
    }

    /// One that was not cut into parts.
    #[inline]
    pub(crate) fn request(request: &'a Request<'_>) -> Self {
        Self::new(request.cost_asked(), request.id())
    }
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

    /// Whether somebody decided who knows what was used.
    fn is_known(&self) -> bool {
        matches!(self.source, Source::Store | Source::Local)
    }
}

/// A refusal without asking any limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar<'a> {
    pub(crate) why: Barred,
    pub(crate) mode: HitMode,
    pub(crate) key: Option<&'a Key<'a>>,
    pub(crate) route: u32,
    pub(crate) now_ms: u64,
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
    #[inline(always)]
    pub(crate) fn decided(&self, limits: usize, told: &Told<'_>, heard: &Heard<'_>) {
        let came = match (heard.is_allowed, limits, told.cost) {
            (false, ..) => Came::Denied,
            (true, 0, _) => Came::Unlimited,
            (true, _, 0) => Came::Looked,
            (true, ..) => Came::Allowed,
        };
        self.requests.count(told.place, came);
    }

    /// What came of a request that one limit alone had to say something to, as is so for most: what [`Self::decided`] and
    /// [`Self::rule`] would tell, without looking at anything twice.
    #[inline(never)]
    pub(crate) fn one(
        &self,
        policy: &ActivePolicy,
        request: &Request<'_>,
        hit: &Hit<'_>,
        (verdict, decision): (&Verdict, &Decision),
    ) {
        const MODE: HitMode = HitMode::Enforced;
        let Some(tally) = policy.tally(hit.rule) else { return };
        let rule = &policy.rules()[hit.rule];
        let [line, ..] = tally.lines(hit.terms, hit.route) else { return };
        if hit.lacks_key {
            tally.record_keyless();
        }
        let place = Place::here();
        let count = |came, said| {
            self.requests.count(place, came);
            line.add(place, counter(MODE, said));
        };
        let subject = Subject { naming: tally.naming(), key: &hit.key };
        match decision.outcome {
            Outcome::Fits if request.cost_asked() == 0 => count(Came::Looked, Said::Looked),
            Outcome::Fits => {
                count(Came::Allowed, Said::Allowed);
                if self.is_near(&rule.terms()[hit.terms].limits()[0], decision, verdict.source) {
                    line.add(place, counter(MODE, Said::NearMiss));
                    self.near.add(subject, verdict.decided_at_ms);
                }
            }
            Outcome::RetryAfter(_) | Outcome::Never => {
                count(Came::Denied, Said::Denied);
                self.denied.add(subject, verdict.decided_at_ms);
                if self.hook(place).is_some() {
                    self.tell_rule(policy, &Told::request(request), (MODE, hit), &Heard::all(verdict));
                }
            }
        }
    }

    /// What rules said that were asked together, in this order.
    #[inline]
    pub(crate) fn rules<'h, 'k: 'h>(
        &self,
        policy: &ActivePolicy,
        told: &Told<'_>,
        mode: HitMode,
        hits: impl Iterator<Item = &'h Hit<'k>>,
        mut heard: Heard<'_>,
    ) {
        for hit in hits {
            let limits = policy.rules()[hit.rule].terms()[hit.terms].limits().len();
            let (own, rest) = heard.decisions.split_at(limits.min(heard.decisions.len()));
            self.rule(policy, told, (mode, hit), &Heard { decisions: own, ..heard });
            heard.decisions = rest;
        }
    }

    /// What one rule said.
    #[inline]
    pub(crate) fn rule(
        &self,
        policy: &ActivePolicy,
        told: &Told<'_>,
        (mode, hit): (HitMode, &Hit<'_>),
        heard: &Heard<'_>,
    ) {
        let Some(tally) = policy.tally(hit.rule) else { return };
        let rule = &policy.rules()[hit.rule];
        if hit.lacks_key {
            tally.record_keyless();
        }
        let (limits, lines) = (rule.terms()[hit.terms].limits(), tally.lines(hit.terms, hit.route));
        let mut noticed = Noticed::Nothing;
        for ((limit, decision), line) in limits.iter().zip(heard.decisions).zip(lines) {
            noticed = noticed.max(self.count(line, mode, (limit, decision), told, heard));
        }
        let subject = Subject { naming: tally.naming(), key: &hit.key };
        if self.notice(subject, mode, (told.place, heard.decided_at_ms), noticed) {
            self.tell_rule(policy, told, (mode, hit), heard);
        }
    }

    /// What a limit said that came along.
    #[inline]
    pub(crate) fn ad_hoc(&self, told: &Told<'_>, key: &Key<'_>, limit: &Limit, heard: &Heard<'_>) {
        let (mode, [decision]) = (HitMode::Enforced, heard.decisions) else { return };
        let noticed = self.count(&self.ad_hoc, mode, (limit, decision), told, heard);
        let subject = Subject { naming: &self.ad_hoc_naming, key };
        if self.notice(subject, mode, (told.place, heard.decided_at_ms), noticed) {
            let limits = std::slice::from_ref(limit);
            self.tell(
                told,
                &Of { rule: None, naming: &self.ad_hoc_naming, names: &[], limits, key, mode },
                heard,
            );
        }
    }

    /// A rule that refuses without asking its limits, or would.
    #[cold]
    pub(crate) fn bars(&self, (policy, rule): (&ActivePolicy, usize), told: &Told<'_>, bar: &Bar<'_>) {
        let Bar { why, mode, key, route, now_ms } = *bar;
        let Some(tally) = policy.tally(rule) else { return };
        let rule = &policy.rules()[rule];
        if let Some(line) = tally.bar(why, route) {
            line.add(told.place, counter(mode, Said::Denied));
        }
        if let Some(key) = key
            && mode == HitMode::Enforced
        {
            self.denied.add(Subject { naming: tally.naming(), key }, now_ms);
        }
        let Some(hook) = self.hook(told.place) else { return };
        hook(&Denial {
            observer: self,
            rule: Some(rule),
            naming: tally.naming(),
            limit: None,
            mode,
            key,
            cost: told.cost,
            retry_after_ms: None,
            retry_after_at_most_ms: None,
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
        let place = told.place;
        let said = match decision.outcome {
            Outcome::RetryAfter(_) | Outcome::Never => Said::Denied,
            Outcome::Fits if told.cost == 0 => Said::Looked,
            Outcome::Fits if heard.is_allowed => Said::Allowed,
            Outcome::Fits => Said::Uncharged,
        };
        line.add(place, counter(mode, said));
        match said {
            Said::Denied => Noticed::Denied,
            Said::Allowed if self.is_near(limit, decision, heard.source) => {
                line.add(place, counter(mode, Said::NearMiss));
                Noticed::Near
            }
            _ => Noticed::Nothing,
        }
    }

    /// Puts subjects on their lists. Says whether a denial is to be told.
    #[inline(always)]
    fn notice(
        &self,
        subject: Subject<'_>,
        mode: HitMode,
        (place, at_ms): (Place, u64),
        noticed: Noticed,
    ) -> bool {
        let top = match noticed {
            Noticed::Nothing => return false,
            Noticed::Near => &self.near,
            Noticed::Denied => &self.denied,
        };
        if mode == HitMode::Enforced {
            top.add(subject, at_ms);
        }
        noticed == Noticed::Denied && self.hook(place).is_some()
    }

    /// That a rule refuses.
    #[cold]
    fn tell_rule(
        &self,
        policy: &ActivePolicy,
        told: &Told<'_>,
        (mode, hit): (HitMode, &Hit<'_>),
        heard: &Heard<'_>,
    ) {
        let Some(tally) = policy.tally(hit.rule) else { return };
        let rule = &policy.rules()[hit.rule];
        let terms = &rule.terms()[hit.terms];
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
    #[inline(always)]
    fn hook(&self, place: Place) -> Option<&Hook> {
        self.hook.get().filter(|_| self.hearing.wants(place))
    }

    fn denial<'a>(&'a self, told: &Told<'a>, of: &Of<'a>, heard: &Heard<'_>) -> Denial<'a> {
        let at = match heard.decisions {
            [_] => 0,
            several => longest(several),
        };
        let wait = Wait::of(&of.limits[at], &heard.decisions[at]);
        let reset_after_ms = heard.decisions.iter().map(|one| one.reset_after_ms).max();
        Denial {
            observer: self,
            rule: of.rule,
            naming: of.naming,
            limit: Some(DeniedLimit { name: of.names.get(at).map(|name| &**name), limit: &of.limits[at] }),
            mode: of.mode,
            key: Some(of.key),
            cost: told.cost,
            retry_after_ms: wait.exact_ms(),
            retry_after_at_most_ms: wait.at_most_ms(),
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
