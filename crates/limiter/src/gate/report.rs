//! What the observer of a gate is told.

use slidegate_core::Verdict;

use super::active_policy::ActivePolicy;
use super::answer::Applied;
use super::batch::{Answers, By, Chosen, Demand};
use super::{Gate, GateError};
use crate::telemetry::{Bar, Came, Heard, Observer, Told};
use slidegate_policy::Request;
use slidegate_policy::{Barred, Hit, HitMode};
use slidegate_store::{Admission, Charge, Once};

impl<S, C> Gate<S, C> {
    /// A request whose rules were asked without a future: all of them are enforced.
    #[inline(always)]
    pub(super) fn seen_at_once(
        &self,
        policy: &ActivePolicy,
        request: &Request<'_>,
        hits: &[Hit<'_>],
        verdict: &Verdict,
    ) {
        if let Some(observer) = &self.observer {
            decided(observer, policy, request, hits, verdict);
        }
    }

    /// A request whose rules that are enforced were asked, if the store answered.
    #[inline]
    pub(super) fn seen<E>(
        &self,
        policy: &ActivePolicy,
        request: &Request<'_>,
        hits: &[Hit<'_>],
        answer: Result<&Once, &GateError<E>>,
    ) {
        let Some(observer) = &self.observer else { return };
        match answer {
            Ok(Once::Decided(Admission { verdict, .. })) => decided(observer, policy, request, hits, verdict),
            Ok(Once::Replayed { .. }) => observer.came(Came::Replayed),
            Ok(Once::Full) | Err(GateError::Store(_) | GateError::Full) => observer.came(Came::Failed),
            // Its sender has to send something else.
            Ok(Once::Conflict)
            | Err(GateError::Request(_) | GateError::Conflict | GateError::TooManyPermits) => {}
        }
    }

    /// What the rules said to an admitted request that only look on, each by itself.
    pub(super) fn seen_apart(
        &self,
        policy: &ActivePolicy,
        request: &Request<'_>,
        hits: &[Hit<'_>],
        (said, now_ms): (&[(Applied, Verdict)], u64),
    ) {
        let Some(observer) = &self.observer else { return };
        let told = Told::request(request);
        let asked = hits.iter().filter(|hit| hit.asks(HitMode::Observed));
        let would_deny = apart(observer, policy, &told, asked, said);
        if would_bar(observer, policy, &told, hits, now_ms) || would_deny {
            observer.came(Came::WouldDeny);
        }
    }

    #[inline]
    pub(super) fn seen_barred(
        &self,
        policy: &ActivePolicy,
        request: &Request<'_>,
        by: (usize, Barred),
        now_ms: u64,
    ) {
        if let Some(observer) = &self.observer {
            observer.came(Came::Barred);
            barred(observer, policy, &Told::request(request), (by, Some(request)), now_ms);
        }
    }

    /// A limit that came along.
    #[inline]
    pub(super) fn seen_limit<E>(&self, charge: &Charge<'_>, id: Option<&str>, verdict: Result<&Verdict, &E>) {
        let Some(observer) = &self.observer else { return };
        match verdict {
            Ok(verdict) => {
                let heard = Heard::all(verdict);
                let told = Told::new(charge.cost, id);
                observer.decided(1, &told, &heard);
                observer.ad_hoc(&told, charge.key, &charge.limits[0], &heard);
            }
            Err(_) => observer.came(Came::Failed),
        }
    }

    /// Requests that were decided together: they are one.
    pub(super) fn seen_together<E>(
        &self,
        demands: &[Demand<'_>],
        chosen: &[Chosen<'_>],
        answers: Result<&Answers, &E>,
    ) {
        let Some(observer) = &self.observer else { return };
        let answers = answers.ok().filter(|answers| answers.unanswered().is_none());
        let Some(Answers { policy, verdict, parts, .. }) = answers else {
            return observer.came(Came::Failed);
        };
        let is_barred = chosen.iter().any(Chosen::is_barred);
        if !is_barred {
            let hits = parts.last().map_or(0, |part| part.decisions.end);
            let observed = chosen.iter().map(|one| one.hits(HitMode::Observed).count()).sum::<usize>();
            let cost = chosen.iter().map(|one| one.cost).fold(0, u64::saturating_add);
            observer.decided(hits + observed, &Told::new(cost, None), &Heard::all(verdict));
        } else {
            observer.came(Came::Barred);
        }
        for ((one, part), demand) in chosen.iter().zip(parts).zip(demands) {
            let cost = if is_barred { 0 } else { one.cost };
            let told = Told::new(cost, demand.id());
            let heard = Heard::some(verdict, &verdict.decisions[part.decisions.clone()]);
            match &one.by {
                By::Rules(_) => {
                    observer.rules(policy, &told, HitMode::Enforced, one.hits(HitMode::Enforced), heard);
                }
                By::Limit(key, limit) => observer.ad_hoc(&told, key, limit, &heard),
                By::Nothing(Some(by)) => {
                    barred(observer, policy, &told, (*by, demand.request()), verdict.decided_at_ms);
                }
                By::Nothing(None) => {}
            }
        }
    }

    /// What the rules said to them that only look on.
    pub(super) fn seen_together_apart(
        &self,
        demands: &[Demand<'_>],
        chosen: &[Chosen<'_>],
        answers: &Answers,
    ) {
        let Some(observer) = &self.observer else { return };
        let mut would_deny = false;
        for ((one, part), demand) in chosen.iter().zip(&answers.parts).zip(demands) {
            let told = Told::new(one.cost, demand.id());
            would_deny |=
                apart(observer, &answers.policy, &told, one.hits(HitMode::Observed), &part.observed);
            let now_ms = answers.verdict.decided_at_ms;
            would_deny |= would_bar(observer, &answers.policy, &told, one.all_hits(), now_ms);
        }
        if would_deny {
            observer.came(Came::WouldDeny);
        }
    }
}

/// What the rules said to a request that are enforced.
#[inline]
fn decided(
    observer: &Observer,
    policy: &ActivePolicy,
    request: &Request<'_>,
    hits: &[Hit<'_>],
    verdict: &Verdict,
) {
    match (hits, &*verdict.decisions) {
        ([hit], [decision]) if hit.mode == HitMode::Enforced => {
            observer.one(policy, request, hit, (verdict, decision));
        }
        _ => decided_by_several(observer, policy, request, hits, verdict),
    }
}

#[inline(never)]
fn decided_by_several(
    observer: &Observer,
    policy: &ActivePolicy,
    request: &Request<'_>,
    hits: &[Hit<'_>],
    verdict: &Verdict,
) {
    let (told, heard) = (Told::request(request), Heard::all(verdict));
    let asked = hits.iter().filter(|hit| hit.would_bar.is_none());
    observer.decided(asked.count(), &told, &heard);
    let enforced = hits.iter().filter(|hit| hit.mode == HitMode::Enforced);
    observer.rules(policy, &told, HitMode::Enforced, enforced, heard);
}

/// A rule that refuses a request without asking its limits.
fn barred(
    observer: &Observer,
    policy: &ActivePolicy,
    told: &Told<'_>,
    ((rule, why), request): ((usize, Barred), Option<&Request<'_>>),
    now_ms: u64,
) {
    let placed = request.map(|request| policy.key_and_route_of(rule, request));
    let (key, route) = placed.unwrap_or_default();
    let bar = Bar { why, mode: HitMode::Enforced, key: key.as_ref(), route, now_ms };
    observer.bars((policy, rule), told, &bar);
}

/// Whether one of the rules that look on would have refused without asking its limits.
fn would_bar(
    observer: &Observer,
    policy: &ActivePolicy,
    told: &Told<'_>,
    hits: &[Hit<'_>],
    now_ms: u64,
) -> bool {
    let mut any = false;
    for hit in hits {
        if let Some(why) = hit.would_bar {
            let Hit { mode, route, ref key, .. } = *hit;
            observer.bars((policy, hit.rule), told, &Bar { why, mode, key: Some(key), route, now_ms });
            any = true;
        }
    }
    any
}

/// Whether one of them would have refused.
fn apart<'h, 'k: 'h>(
    observer: &Observer,
    policy: &ActivePolicy,
    told: &Told<'_>,
    hits: impl Iterator<Item = &'h Hit<'k>>,
    said: &[(Applied, Verdict)],
) -> bool {
    let mut would_deny = false;
    for (hit, (_, verdict)) in hits.zip(said) {
        observer.rule(policy, told, (HitMode::Observed, hit), &Heard::all(verdict));
        would_deny |= !verdict.is_allowed();
    }
    would_deny
}
