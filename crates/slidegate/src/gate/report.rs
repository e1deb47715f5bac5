//! Telemetry of a gate: every decision, once.

use slidegate_core::Verdict;

use super::active_policy::ActivePolicy;
use super::answer::unanswered;
use super::charges::Permits;
use super::item::{BlockedBy, ItemLimits, MatchedItem, is_blocked};
use super::{Gate, GateError};
use crate::telemetry::{BlockedRequest, LimitDecisions, RequestInfo, RequestOutcome, Telemetry};
use slidegate_policy::{Hit, HitMode, Request};
use slidegate_store::{Admission, Charge, IdempotentOutcome};

impl<S, C> Gate<S, C> {
    /// Records what the enforced rules decided, or that there is no decision.
    #[inline]
    pub(super) fn report<E>(
        &self,
        policy: &ActivePolicy,
        items: &[MatchedItem<'_>],
        permits: Permits,
        outcome: Result<&IdempotentOutcome, &GateError<E>>,
    ) {
        let Some(telemetry) = &self.telemetry else { return };
        match outcome {
            // Where a proxy decides by its own failure mode, there is no decision.
            Ok(IdempotentOutcome::Decided(Admission { verdict, .. }))
                if permits == Permits::None && unanswered(policy, items, verdict).is_some() =>
            {
                telemetry.count_request(RequestOutcome::Failed);
            }
            Ok(IdempotentOutcome::Decided(Admission { verdict, .. })) => {
                decided(telemetry, policy, items, verdict);
            }
            Ok(IdempotentOutcome::Replayed { .. }) => telemetry.count_request(RequestOutcome::Replayed),
            Ok(IdempotentOutcome::Full) | Err(GateError::Store(_) | GateError::Full) => {
                telemetry.count_request(RequestOutcome::Failed);
            }
            // The sender has to send another request.
            Ok(IdempotentOutcome::Conflict)
            | Err(GateError::Request(_) | GateError::Conflict | GateError::TooManyPermits { .. }) => {}
        }
    }

    /// [`Gate::report`] of a verdict.
    #[inline]
    pub(super) fn report_verdict(&self, policy: &ActivePolicy, items: &[MatchedItem<'_>], verdict: &Verdict) {
        if let Some(telemetry) = &self.telemetry {
            decided(telemetry, policy, items, verdict);
        }
    }

    /// [`Gate::report_verdict`] on a request whose only hit is this enforced one.
    #[inline]
    pub(super) fn report_hit(
        &self,
        policy: &ActivePolicy,
        request: &Request<'_>,
        hit: &Hit<'_>,
        verdict: &Verdict,
    ) {
        let Some(telemetry) = &self.telemetry else { return };
        let info = RequestInfo::new(request.requested_cost(), request.id());
        if let [decision] = &*verdict.decisions {
            return telemetry.one(policy, &info, hit, (verdict, decision));
        }
        let decisions = LimitDecisions::all(verdict);
        telemetry.decided(1, &info, &decisions);
        telemetry.rule(policy, &info, (HitMode::Enforce, hit), &decisions);
    }

    /// Records the decision of an ad hoc limit.
    #[inline]
    pub(super) fn report_limit<E>(
        &self,
        charge: &Charge<'_>,
        id: Option<&str>,
        verdict: Result<&Verdict, &E>,
    ) {
        let Some(telemetry) = &self.telemetry else { return };
        match verdict {
            Ok(verdict) => {
                let decisions = LimitDecisions::all(verdict);
                let info = RequestInfo::new(charge.cost, id);
                telemetry.decided(1, &info, &decisions);
                telemetry.ad_hoc(&info, charge.key, &charge.limits[0], &decisions);
            }
            Err(_) => telemetry.count_request(RequestOutcome::Failed),
        }
    }

    /// Records what the rules in observe mode would have decided, each by itself.
    pub(super) fn report_dry_runs(
        &self,
        policy: &ActivePolicy,
        items: &[MatchedItem<'_>],
        (verdicts, now_ms): (&[Verdict], u64),
    ) {
        let Some(telemetry) = &self.telemetry else { return };
        let mut verdicts = verdicts.iter();
        let mut would_deny = false;
        for item in items {
            let info = RequestInfo::new(item.cost, item.id);
            for (hit, verdict) in item.hits_in(HitMode::Observe).zip(&mut verdicts) {
                telemetry.rule(policy, &info, (HitMode::Observe, hit), &LimitDecisions::all(verdict));
                would_deny |= !verdict.is_allowed();
            }
            for hit in item.hits() {
                let Some(why) = hit.would_block else { continue };
                let Hit { mode, route, ref key, .. } = *hit;
                let block = BlockedRequest { reason: why, mode, key: Some(key), route, now_ms };
                telemetry.record_block((policy, hit.rule), &info, &block);
                would_deny = true;
            }
        }
        if would_deny {
            telemetry.count_request(RequestOutcome::WouldDeny);
        }
    }
}

/// Records the decisions of enforced rules. Most requests meet one limit of one rule.
#[inline]
fn decided(telemetry: &Telemetry, policy: &ActivePolicy, items: &[MatchedItem<'_>], verdict: &Verdict) {
    if let ([item], [decision]) = (items, &*verdict.decisions)
        && let [hit] = item.hits()
        && hit.mode == HitMode::Enforce
    {
        return telemetry.one(policy, &RequestInfo::new(item.cost, item.id), hit, (verdict, decision));
    }
    decided_by_several(telemetry, policy, items, verdict);
}

#[inline(never)]
fn decided_by_several(
    telemetry: &Telemetry,
    policy: &ActivePolicy,
    items: &[MatchedItem<'_>],
    verdict: &Verdict,
) {
    let is_blocked = is_blocked(items);
    if is_blocked {
        telemetry.count_request(RequestOutcome::Blocked);
    } else {
        let limits = items.iter().map(limit_sets).sum();
        let cost = items.iter().map(|item| item.cost).fold(0, u64::saturating_add);
        telemetry.decided(limits, &RequestInfo::new(cost, None), &LimitDecisions::all(verdict));
    }
    let mut rest = &*verdict.decisions;
    for item in items {
        // The others of a batch with a blocked one are peeks.
        let is_peek = is_blocked && item.blocked_by().is_none();
        let info = RequestInfo::new(if is_peek { 0 } else { item.cost }, item.id);
        let own;
        (own, rest) = rest.split_at(decisions_of(policy, item).min(rest.len()));
        let decisions = LimitDecisions::some(verdict, own);
        match &item.limits {
            ItemLimits::Rules(_) => {
                let hits = item.hits_in(HitMode::Enforce);
                telemetry.rules(policy, &info, HitMode::Enforce, hits, decisions);
            }
            ItemLimits::AdHoc(key, limit) => telemetry.ad_hoc(&info, key, limit, &decisions),
            ItemLimits::Blocked { by: BlockedBy::Rule(rule, why), key, route } => {
                let (why, route, now_ms) = (*why, *route, verdict.decided_at_ms);
                let block =
                    BlockedRequest { reason: why, mode: HitMode::Enforce, key: key.as_ref(), route, now_ms };
                telemetry.record_block((policy, *rule as usize), &info, &block);
            }
            ItemLimits::Blocked { by: BlockedBy::Caller, .. } => {}
        }
    }
}

/// Number of limit sets that apply to an item, in any mode.
fn limit_sets(item: &MatchedItem<'_>) -> usize {
    match &item.limits {
        ItemLimits::Rules(hits) => hits.iter().filter(|hit| hit.would_block.is_none()).count(),
        ItemLimits::AdHoc(..) => 1,
        ItemLimits::Blocked { .. } => 0,
    }
}

/// Number of decisions of an item.
fn decisions_of(policy: &ActivePolicy, item: &MatchedItem<'_>) -> usize {
    let limits = |hit: &Hit<'_>| policy.rules()[hit.rule].limit_sets()[hit.limit_set].limits().len();
    match item.limits {
        ItemLimits::AdHoc(..) => 1,
        ItemLimits::Rules(_) | ItemLimits::Blocked { .. } => item.hits_in(HitMode::Enforce).map(limits).sum(),
    }
}
