//! What the observer of a gate is told.

use slidegate_core::Verdict;

use super::answer::Applied;
use super::answers::{Answers, Part};
use super::demand::{By, Chosen, Demand};
use super::{Gate, GateError};
use crate::observe::{Came, Heard, Observer, Told};
use crate::policy::{Barred, Hit, HitMode, Policy};
use crate::request::Request;
use crate::store::{Charge, Once};

impl<S, C> Gate<S, C> {
    /// A request whose rules were asked without a future: all of them are enforced.
    #[inline(always)]
    pub(super) fn seen_at_once(
        &self,
        policy: &Policy,
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
        policy: &Policy,
        request: &Request<'_>,
        hits: &[Hit<'_>],
        answer: Result<&Once, &GateError<E>>,
    ) {
        let Some(observer) = &self.observer else { return };
        match answer {
            Ok(Once::Decided(verdict)) => decided(observer, policy, request, hits, verdict),
            Ok(Once::Replayed(_)) => observer.came(Came::Replayed),
            Err(GateError::Store(_)) => observer.came(Came::Failed),
            // Its sender has to send something else.
            Ok(Once::Conflict) | Err(GateError::Request(_) | GateError::Conflict) => {}
        }
    }

    /// What the rules said to an admitted request that only look on, each by itself.
    pub(super) fn seen_apart(
        &self,
        policy: &Policy,
        request: &Request<'_>,
        hits: &[Hit<'_>],
        said: &[(Applied, Verdict)],
    ) {
        if let Some(observer) = &self.observer {
            let hits = hits.iter().filter(|hit| hit.mode == HitMode::Observed);
            if apart(observer, policy, &Told::request(request), hits, said) {
                observer.came(Came::WouldDeny);
            }
        }
    }

    #[inline]
    pub(super) fn seen_barred(
        &self,
        policy: &Policy,
        request: &Request<'_>,
        by: (usize, Barred),
        now_ms: u64,
    ) {
        if let Some(observer) = &self.observer {
            let key = policy.key_of(by.0, request);
            observer.barred(&Told::request(request), (&policy.rules()[by.0], by.1), key.as_ref(), now_ms);
        }
    }

    /// A limit that came along.
    #[inline]
    pub(super) fn seen_limit<E>(&self, charge: &Charge<'_>, verdict: Result<&Verdict, &E>) {
        let Some(observer) = &self.observer else { return };
        match verdict {
            Ok(verdict) => {
                let heard = Heard::all(verdict);
                let told = Told::new(charge.cost, None);
                observer.decided(1, &told, &heard);
                observer.ad_hoc(&told, charge.key, &charge.limits[0], &heard);
            }
            Err(_) => observer.came(Came::Failed),
        }
    }

    /// Requests that were decided together: they are one.
    pub(super) fn seen_together<E>(
        &self,
        policy: &Policy,
        demands: &[Demand<'_>],
        (chosen, parts): (&[Chosen<'_>], &[Part]),
        verdict: Result<&Verdict, &E>,
    ) {
        let Some(observer) = &self.observer else { return };
        let Ok(verdict) = verdict else { return observer.came(Came::Failed) };
        let is_barred = chosen.iter().any(Chosen::is_barred);
        if !is_barred {
            let hits = parts.last().map_or(0, |part| part.decisions.end);
            let observed = chosen.iter().map(|one| one.hits(HitMode::Observed).count()).sum::<usize>();
            let cost = chosen.iter().map(|one| one.cost).fold(0, u64::saturating_add);
            observer.decided(hits + observed, &Told::new(cost, None), &Heard::all(verdict));
        } else if !chosen.iter().any(|one| matches!(one.by, By::Nothing(Some(_)))) {
            observer.came(Came::Barred);
        }
        let mut barred = is_barred;
        for ((one, part), demand) in chosen.iter().zip(parts).zip(demands) {
            let cost = if is_barred { 0 } else { one.cost };
            let told = Told::new(cost, demand.request().and_then(Request::id));
            let heard = Heard::some(verdict, &verdict.decisions[part.decisions.clone()]);
            match &one.by {
                By::Rules(_) => {
                    observer.rules(policy, &told, HitMode::Enforced, one.hits(HitMode::Enforced), heard);
                }
                By::Limit(key, limit) => observer.ad_hoc(&told, key, limit, &heard),
                By::Nothing(Some(by)) if std::mem::take(&mut barred) => {
                    let key = demand.request().and_then(|request| policy.key_of(by.0, request));
                    observer.barred(
                        &told,
                        (&policy.rules()[by.0], by.1),
                        key.as_ref(),
                        verdict.decided_at_ms,
                    );
                }
                By::Nothing(_) => {}
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
            let told = Told::new(one.cost, demand.request().and_then(Request::id));
            would_deny |=
                apart(observer, &answers.policy, &told, one.hits(HitMode::Observed), &part.observed);
        }
        if would_deny {
            observer.came(Came::WouldDeny);
        }
    }
}

/// What the rules said to a request that are enforced.
#[inline]
fn decided(observer: &Observer, policy: &Policy, request: &Request<'_>, hits: &[Hit<'_>], verdict: &Verdict) {
    match (hits, &*verdict.decisions) {
        ([hit], [decision]) if hit.mode == HitMode::Enforced => {
            observer.one(&policy.rules()[hit.rule], request, hit, (verdict, decision));
        }
        _ => decided_by_several(observer, policy, request, hits, verdict),
    }
}

#[inline(never)]
fn decided_by_several(
    observer: &Observer,
    policy: &Policy,
    request: &Request<'_>,
    hits: &[Hit<'_>],
    verdict: &Verdict,
) {
    let (told, heard) = (Told::request(request), Heard::all(verdict));
    observer.decided(hits.len(), &told, &heard);
    let enforced = hits.iter().filter(|hit| hit.mode == HitMode::Enforced);
    observer.rules(policy, &told, HitMode::Enforced, enforced, heard);
}

/// Whether one of them would have refused.
fn apart<'h, 'k: 'h>(
    observer: &Observer,
    policy: &Policy,
    told: &Told<'_>,
    hits: impl Iterator<Item = &'h Hit<'k>>,
    said: &[(Applied, Verdict)],
) -> bool {
    let mut would_deny = false;
    for (hit, (_, verdict)) in hits.zip(said) {
        let rule = &policy.rules()[hit.rule];
        observer.rule(rule, told, (HitMode::Observed, hit), &Heard::all(verdict));
        would_deny |= !verdict.is_allowed();
    }
    would_deny
}
