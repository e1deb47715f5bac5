//! What the observer of a gate is told.

use slidegate_core::Verdict;

use super::active_policy::ActivePolicy;
use super::answer::Applied;
use super::batch::{BatchAnswer, BatchItem, ItemLimits, MatchedItem};
use super::{Gate, GateError};
use crate::telemetry::{BlockedRequest, LimitDecisions, RequestInfo, RequestOutcome, Telemetry};
use slidegate_policy::Request;
use slidegate_policy::{Blocked, Hit, HitMode};
use slidegate_store::{Admission, Charge, IdempotentOutcome};

impl<S, C> Gate<S, C> {
    /// A request whose rules were asked without a future: all of them are enforced.
    #[inline(always)]
    pub(super) fn report_sync(
        &self,
        policy: &ActivePolicy,
        request: &Request<'_>,
        hits: &[Hit<'_>],
        verdict: &Verdict,
    ) {
        if let Some(telemetry) = &self.telemetry {
            decided(telemetry, policy, request, hits, verdict);
        }
    }

    /// A request whose rules that are enforced were asked, if the store answered.
    #[inline]
    pub(super) fn report<E>(
        &self,
        policy: &ActivePolicy,
        request: &Request<'_>,
        hits: &[Hit<'_>],
        answer: Result<&IdempotentOutcome, &GateError<E>>,
    ) {
        let Some(telemetry) = &self.telemetry else { return };
        match answer {
            Ok(IdempotentOutcome::Decided(Admission { verdict, .. })) => {
                decided(telemetry, policy, request, hits, verdict);
            }
            Ok(IdempotentOutcome::Replayed { .. }) => telemetry.count_request(RequestOutcome::Replayed),
            Ok(IdempotentOutcome::Full) | Err(GateError::Store(_) | GateError::Full) => {
                telemetry.count_request(RequestOutcome::Failed);
            }
            // Its sender has to send something else.
            Ok(IdempotentOutcome::Conflict)
            | Err(GateError::Request(_) | GateError::Conflict | GateError::TooManyPermits) => {}
        }
    }

    /// What the rules said to an admitted request that only look on, each by itself.
    pub(super) fn report_dry_run(
        &self,
        policy: &ActivePolicy,
        request: &Request<'_>,
        hits: &[Hit<'_>],
        (verdicts, now_ms): (&[(Applied, Verdict)], u64),
    ) {
        let Some(telemetry) = &self.telemetry else { return };
        let info = RequestInfo::request(request);
        let hits_of_mode = hits.iter().filter(|hit| hit.consults(HitMode::Observe));
        let would_deny = report_dry_runs(telemetry, policy, &info, hits_of_mode, verdicts);
        if would_block(telemetry, policy, &info, hits, now_ms) || would_deny {
            telemetry.count_request(RequestOutcome::WouldDeny);
        }
    }

    #[inline]
    pub(super) fn report_blocked(
        &self,
        policy: &ActivePolicy,
        request: &Request<'_>,
        by: (usize, Blocked),
        now_ms: u64,
    ) {
        if let Some(telemetry) = &self.telemetry {
            telemetry.count_request(RequestOutcome::Blocked);
            report_block(telemetry, policy, &RequestInfo::request(request), (by, Some(request)), now_ms);
        }
    }

    /// A limit that came along.
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

    /// Requests that were decided together: they are one.
    pub(super) fn report_batch<E>(
        &self,
        items: &[BatchItem<'_>],
        matched: &[MatchedItem<'_>],
        answers: Result<&BatchAnswer, &E>,
    ) {
        let Some(telemetry) = &self.telemetry else { return };
        let answers = answers.ok().filter(|answers| answers.unanswered().is_none());
        let Some(BatchAnswer { policy, verdict, parts, .. }) = answers else {
            return telemetry.count_request(RequestOutcome::Failed);
        };
        let is_barred = matched.iter().any(MatchedItem::is_barred);
        if !is_barred {
            let hits = parts.last().map_or(0, |part| part.decisions.end);
            let observed = matched.iter().map(|one| one.hits(HitMode::Observe).count()).sum::<usize>();
            let cost = matched.iter().map(|one| one.cost).fold(0, u64::saturating_add);
            telemetry.decided(hits + observed, &RequestInfo::new(cost, None), &LimitDecisions::all(verdict));
        } else {
            telemetry.count_request(RequestOutcome::Blocked);
        }
        for ((one, part), item) in matched.iter().zip(parts).zip(items) {
            let cost = if is_barred { 0 } else { one.cost };
            let info = RequestInfo::new(cost, item.id());
            let decisions = LimitDecisions::some(verdict, &verdict.decisions[part.decisions.clone()]);
            match &one.by {
                ItemLimits::Rules(_) => {
                    telemetry.rules(policy, &info, HitMode::Enforce, one.hits(HitMode::Enforce), decisions);
                }
                ItemLimits::Limit(key, limit) => telemetry.ad_hoc(&info, key, limit, &decisions),
                ItemLimits::Nothing(Some(by)) => {
                    report_block(telemetry, policy, &info, (*by, item.request()), verdict.decided_at_ms);
                }
                ItemLimits::Nothing(None) => {}
            }
        }
    }

    /// What the rules said to them that only look on.
    pub(super) fn report_batch_dry_run(
        &self,
        items: &[BatchItem<'_>],
        matched: &[MatchedItem<'_>],
        answers: &BatchAnswer,
    ) {
        let Some(telemetry) = &self.telemetry else { return };
        let mut would_deny = false;
        for ((one, part), item) in matched.iter().zip(&answers.parts).zip(items) {
            let info = RequestInfo::new(one.cost, item.id());
            would_deny |= report_dry_runs(
                telemetry,
                &answers.policy,
                &info,
                one.hits(HitMode::Observe),
                &part.observed,
            );
            let now_ms = answers.verdict.decided_at_ms;
            would_deny |= would_block(telemetry, &answers.policy, &info, one.every_hit(), now_ms);
        }
        if would_deny {
            telemetry.count_request(RequestOutcome::WouldDeny);
        }
    }
}

/// What the rules said to a request that are enforced.
#[inline]
fn decided(
    telemetry: &Telemetry,
    policy: &ActivePolicy,
    request: &Request<'_>,
    hits: &[Hit<'_>],
    verdict: &Verdict,
) {
    match (hits, &*verdict.decisions) {
        ([hit], [decision]) if hit.mode == HitMode::Enforce => {
            telemetry.one(policy, request, hit, (verdict, decision));
        }
        _ => decided_by_several(telemetry, policy, request, hits, verdict),
    }
}

#[inline(never)]
fn decided_by_several(
    telemetry: &Telemetry,
    policy: &ActivePolicy,
    request: &Request<'_>,
    hits: &[Hit<'_>],
    verdict: &Verdict,
) {
    let (info, decisions) = (RequestInfo::request(request), LimitDecisions::all(verdict));
    let hits_of_mode = hits.iter().filter(|hit| hit.would_block.is_none());
    telemetry.decided(hits_of_mode.count(), &info, &decisions);
    let enforced = hits.iter().filter(|hit| hit.mode == HitMode::Enforce);
    telemetry.rules(policy, &info, HitMode::Enforce, enforced, decisions);
}

/// A rule that refuses a request without asking its limits.
fn report_block(
    telemetry: &Telemetry,
    policy: &ActivePolicy,
    info: &RequestInfo<'_>,
    ((rule, why), request): ((usize, Blocked), Option<&Request<'_>>),
    now_ms: u64,
) {
    let placed = request.map(|request| policy.key_and_route_of(rule, request));
    let (key, route) = placed.unwrap_or_default();
    let bar = BlockedRequest { why, mode: HitMode::Enforce, key: key.as_ref(), route, now_ms };
    telemetry.record_block((policy, rule), info, &bar);
}

/// Whether one of the rules that look on would have refused without asking its limits.
fn would_block(
    telemetry: &Telemetry,
    policy: &ActivePolicy,
    info: &RequestInfo<'_>,
    hits: &[Hit<'_>],
    now_ms: u64,
) -> bool {
    let mut any = false;
    for hit in hits {
        if let Some(why) = hit.would_block {
            let Hit { mode, route, ref key, .. } = *hit;
            telemetry.record_block(
                (policy, hit.rule),
                info,
                &BlockedRequest { why, mode, key: Some(key), route, now_ms },
            );
            any = true;
        }
    }
    any
}

/// Whether one of them would have refused.
fn report_dry_runs<'h, 'k: 'h>(
    telemetry: &Telemetry,
    policy: &ActivePolicy,
    info: &RequestInfo<'_>,
    hits: impl Iterator<Item = &'h Hit<'k>>,
    verdicts: &[(Applied, Verdict)],
) -> bool {
    let mut would_deny = false;
    for (hit, (_, verdict)) in hits.zip(verdicts) {
        telemetry.rule(policy, info, (HitMode::Observe, hit), &LimitDecisions::all(verdict));
        would_deny |= !verdict.is_allowed();
    }
    would_deny
}
