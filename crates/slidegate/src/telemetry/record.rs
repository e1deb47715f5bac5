//! Recording of decisions.

use std::sync::Arc;

use slidegate_core::{Decision, Limit, Outcome, Source, Verdict, Wait};

use super::denial::{Denial, DeniedLimit};
use super::requests::RequestOutcome;
use super::series::{LimitOutcome, SeriesCounters, counter};
use super::thread_stripe::ThreadStripe;
use super::top::Subject;
use super::{Hook, SubjectNaming, Telemetry};
use crate::gate::ActivePolicy;
use slidegate_policy::{Blocked, Hit, HitMode, Rule};
use slidegate_store::Key;

/// Request, as far as it is recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestInfo<'a> {
    cost: u64,
    id: Option<&'a str>,
    /// Stripe of the recording thread.
    stripe: ThreadStripe,
}

impl<'a> RequestInfo<'a> {
    #[inline]
    pub(crate) fn new(cost: u64, id: Option<&'a str>) -> Self {
        Self { cost, id, stripe: ThreadStripe::here() }
    }
}

/// Decisions of some limits, of those that were decided together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitDecisions<'v> {
    decisions: &'v [Decision],
    is_allowed: bool,
    source: Source,
    decided_at_ms: u64,
}

impl<'v> LimitDecisions<'v> {
    /// Decisions of all limits of a verdict.
    #[inline]
    pub(crate) fn all(verdict: &'v Verdict) -> Self {
        Self {
            decisions: &verdict.decisions,
            is_allowed: verdict.is_allowed(),
            source: verdict.source,
            decided_at_ms: verdict.decided_at_ms,
        }
    }

    /// Decisions of one item of a batch.
    pub(crate) fn some(verdict: &'v Verdict, decisions: &'v [Decision]) -> Self {
        Self { decisions, ..Self::all(verdict) }
    }
}

/// Request that a rule blocks without evaluating a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockedRequest<'a> {
    pub(crate) reason: Blocked,
    pub(crate) mode: HitMode,
    pub(crate) key: Option<&'a Key<'a>>,
    pub(crate) route: u32,
    pub(crate) now_ms: u64,
}

/// Severity of the decisions on one subject, in ascending order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Nothing,
    Near,
    Denied,
}

/// Subject of a decision, and its limits.
#[derive(Clone, Copy)]
struct DenialSource<'a> {
    rule: Option<&'a Rule>,
    naming: &'a Arc<SubjectNaming>,
    names: &'a [Box<str>],
    limits: &'a [Limit],
    key: &'a Key<'a>,
    mode: HitMode,
}

impl Telemetry {
    #[inline]
    pub(crate) fn count_request(&self, outcome: RequestOutcome) {
        self.requests.count(ThreadStripe::here(), outcome);
    }

    /// Records the outcome of a request with this many rules or limits.
    #[inline(always)]
    pub(crate) fn decided(&self, limits: usize, info: &RequestInfo<'_>, decisions: &LimitDecisions<'_>) {
        let outcome = match (decisions.is_allowed, limits, info.cost) {
            (false, ..) => RequestOutcome::Denied,
            (true, 0, _) => RequestOutcome::Unlimited,
            (true, _, 0) => RequestOutcome::Peeked,
            (true, ..) => RequestOutcome::Allowed,
        };
        self.requests.count(info.stripe, outcome);
    }

    /// Records a request with a single limit, as most have: the same as [`Self::decided`] and
    /// [`Self::rule`], without repeated look-ups.
    #[inline(never)]
    pub(crate) fn one(
        &self,
        policy: &ActivePolicy,
        info: &RequestInfo<'_>,
        hit: &Hit<'_>,
        (verdict, decision): (&Verdict, &Decision),
    ) {
        const MODE: HitMode = HitMode::Enforce;
        let Some(rule_series) = policy.rule_series(hit.rule) else { return };
        let rule = &policy.rules()[hit.rule];
        let [series, ..] = rule_series.series(hit.limit_set, hit.route) else { return };
        if hit.lacks_key {
            rule_series.record_keyless();
        }
        let stripe = info.stripe;
        let count = |request_outcome, limit_outcome| {
            self.requests.count(stripe, request_outcome);
            series.add(stripe, counter(MODE, limit_outcome));
        };
        let subject = Subject { naming: rule_series.naming(), key: &hit.key };
        match decision.outcome {
            Outcome::Fits if info.cost == 0 => {
                count(RequestOutcome::Peeked, LimitOutcome::Peeked);
            }
            Outcome::Fits => {
                count(RequestOutcome::Allowed, LimitOutcome::Allowed);
                if self.is_near(&rule.limit_sets()[hit.limit_set].limits()[0], decision, verdict.source) {
                    series.add(stripe, counter(MODE, LimitOutcome::NearMiss));
                    self.near.add(subject, verdict.decided_at_ms);
                }
            }
            Outcome::RetryAfter(_) | Outcome::Never => {
                count(RequestOutcome::Denied, LimitOutcome::Denied);
                self.denied.add(subject, verdict.decided_at_ms);
                if self.hook(stripe).is_some() {
                    self.call_hook_for_rule(policy, info, (MODE, hit), &LimitDecisions::all(verdict));
                }
            }
        }
    }

    /// Records the decisions of several rules, in this order.
    #[inline]
    pub(crate) fn rules<'h, 'k: 'h>(
        &self,
        policy: &ActivePolicy,
        info: &RequestInfo<'_>,
        mode: HitMode,
        hits: impl Iterator<Item = &'h Hit<'k>>,
        mut decisions: LimitDecisions<'_>,
    ) {
        for hit in hits {
            let limits = policy.rules()[hit.rule].limit_sets()[hit.limit_set].limits().len();
            let (own, rest) = decisions.decisions.split_at(limits.min(decisions.decisions.len()));
            self.rule(policy, info, (mode, hit), &LimitDecisions { decisions: own, ..decisions });
            decisions.decisions = rest;
        }
    }

    /// Records the decisions of one rule.
    #[inline]
    pub(crate) fn rule(
        &self,
        policy: &ActivePolicy,
        info: &RequestInfo<'_>,
        (mode, hit): (HitMode, &Hit<'_>),
        decisions: &LimitDecisions<'_>,
    ) {
        let Some(rule_series) = policy.rule_series(hit.rule) else { return };
        let rule = &policy.rules()[hit.rule];
        if hit.lacks_key {
            rule_series.record_keyless();
        }
        let (limits, series_of_limits) =
            (rule.limit_sets()[hit.limit_set].limits(), rule_series.series(hit.limit_set, hit.route));
        let mut severity = Severity::Nothing;
        for ((limit, decision), series) in limits.iter().zip(decisions.decisions).zip(series_of_limits) {
            severity = severity.max(self.count(series, mode, (limit, decision), info, decisions));
        }
        let subject = Subject { naming: rule_series.naming(), key: &hit.key };
        if self.add_to_top_lists(subject, mode, (info.stripe, decisions.decided_at_ms), severity) {
            self.call_hook_for_rule(policy, info, (mode, hit), decisions);
        }
    }

    /// Records the decision of an ad hoc limit.
    #[inline]
    pub(crate) fn ad_hoc(
        &self,
        info: &RequestInfo<'_>,
        key: &Key<'_>,
        limit: &Limit,
        decisions: &LimitDecisions<'_>,
    ) {
        let (mode, [decision]) = (HitMode::Enforce, decisions.decisions) else { return };
        let severity = self.count(&self.ad_hoc, mode, (limit, decision), info, decisions);
        let subject = Subject { naming: &self.ad_hoc_naming, key };
        if self.add_to_top_lists(subject, mode, (info.stripe, decisions.decided_at_ms), severity) {
            let limits = std::slice::from_ref(limit);
            self.call_hook(
                info,
                &DenialSource { rule: None, naming: &self.ad_hoc_naming, names: &[], limits, key, mode },
                decisions,
            );
        }
    }

    /// Records a request that a rule blocks, or would block if it were enforced.
    #[cold]
    pub(crate) fn record_block(
        &self,
        (policy, rule): (&ActivePolicy, usize),
        info: &RequestInfo<'_>,
        block: &BlockedRequest<'_>,
    ) {
        let BlockedRequest { reason, mode, key, route, now_ms } = *block;
        let Some(rule_series) = policy.rule_series(rule) else { return };
        let rule = &policy.rules()[rule];
        if let Some(series) = rule_series.block_series(reason, route) {
            series.add(info.stripe, counter(mode, LimitOutcome::Denied));
        }
        if let Some(key) = key
            && mode == HitMode::Enforce
        {
            self.denied.add(Subject { naming: rule_series.naming(), key }, now_ms);
        }
        let Some(hook) = self.hook(info.stripe) else { return };
        hook(&Denial {
            telemetry: self,
            rule: Some(rule),
            naming: rule_series.naming(),
            limit: None,
            mode,
            key,
            cost: info.cost,
            retry_after_ms: None,
            retry_after_at_most_ms: None,
            reset_after_ms: None,
            decided_at_ms: now_ms,
            source: Source::Store,
            blocked: Some(reason),
            request_id: info.id,
        });
    }

    #[inline(always)]
    fn count(
        &self,
        series: &SeriesCounters,
        mode: HitMode,
        (limit, decision): (&Limit, &Decision),
        info: &RequestInfo<'_>,
        decisions: &LimitDecisions<'_>,
    ) -> Severity {
        let stripe = info.stripe;
        let outcome = match decision.outcome {
            Outcome::RetryAfter(_) | Outcome::Never => LimitOutcome::Denied,
            Outcome::Fits if info.cost == 0 => LimitOutcome::Peeked,
            Outcome::Fits if decisions.is_allowed => LimitOutcome::Allowed,
            Outcome::Fits => LimitOutcome::Uncharged,
        };
        series.add(stripe, counter(mode, outcome));
        match outcome {
            LimitOutcome::Denied => Severity::Denied,
            LimitOutcome::Allowed if self.is_near(limit, decision, decisions.source) => {
                series.add(stripe, counter(mode, LimitOutcome::NearMiss));
                Severity::Near
            }
            _ => Severity::Nothing,
        }
    }

    /// Counts a subject in its top list. Returns whether to call the hook.
    #[inline(always)]
    fn add_to_top_lists(
        &self,
        subject: Subject<'_>,
        mode: HitMode,
        (stripe, at_ms): (ThreadStripe, u64),
        severity: Severity,
    ) -> bool {
        let top = match severity {
            Severity::Nothing => return false,
            Severity::Near => &self.near,
            Severity::Denied => &self.denied,
        };
        if mode == HitMode::Enforce {
            top.add(subject, at_ms);
        }
        severity == Severity::Denied && self.hook(stripe).is_some()
    }

    /// Calls the hook for a denial by a rule.
    #[cold]
    fn call_hook_for_rule(
        &self,
        policy: &ActivePolicy,
        info: &RequestInfo<'_>,
        (mode, hit): (HitMode, &Hit<'_>),
        decisions: &LimitDecisions<'_>,
    ) {
        let Some(rule_series) = policy.rule_series(hit.rule) else { return };
        let rule = &policy.rules()[hit.rule];
        let limit_set = &rule.limit_sets()[hit.limit_set];
        let (names, limits, key) = (limit_set.names(), limit_set.limits(), &hit.key);
        self.call_hook(
            info,
            &DenialSource { rule: Some(rule), naming: rule_series.naming(), names, limits, key, mode },
            decisions,
        );
    }

    #[cold]
    fn call_hook(&self, info: &RequestInfo<'_>, of: &DenialSource<'_>, decisions: &LimitDecisions<'_>) {
        if let Some(hook) = self.hook.get() {
            hook(&self.denial(info, of, decisions));
        }
    }

    /// Hook for a denial, if it is interested in it now.
    #[inline(always)]
    fn hook(&self, stripe: ThreadStripe) -> Option<&Hook> {
        self.hook.get().filter(|_| self.interest.wants(stripe))
    }

    fn denial<'a>(
        &'a self,
        info: &RequestInfo<'a>,
        of: &DenialSource<'a>,
        decisions: &LimitDecisions<'_>,
    ) -> Denial<'a> {
        let at = match decisions.decisions {
            [_] => 0,
            several => longest(several),
        };
        let wait = Wait::of(&of.limits[at], &decisions.decisions[at]);
        let reset_after_ms = decisions.decisions.iter().map(|one| one.reset_after_ms).max();
        Denial {
            telemetry: self,
            rule: of.rule,
            naming: of.naming,
            limit: Some(DeniedLimit { name: of.names.get(at).map(|name| &**name), limit: &of.limits[at] }),
            mode: of.mode,
            key: Some(of.key),
            cost: info.cost,
            retry_after_ms: wait.exact_ms(),
            retry_after_at_most_ms: wait.at_most_ms(),
            reset_after_ms: reset_after_ms.filter(|_| decisions.source.has_numbers()),
            decided_at_ms: decisions.decided_at_ms,
            source: decisions.source,
            blocked: None,
            request_id: info.id,
        }
    }
}

/// Index of the decision with the longest wait; a cost that never fits has the longest of all.
fn longest(decisions: &[Decision]) -> usize {
    let wait = |decision: &Decision| match decision.outcome {
        Outcome::Fits => (0, 0),
        Outcome::RetryAfter(ms) => (1, ms),
        Outcome::Never => (2, 0),
    };
    let each = decisions.iter().enumerate();
    each.max_by_key(|(_, decision)| wait(decision)).map_or(0, |(at, _)| at)
}
