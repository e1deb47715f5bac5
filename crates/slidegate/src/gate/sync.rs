//! Requests that ask for nothing but an answer, over a store that has it at once: decided without a future, and without an
//! [`Answer`](super::Answer) to keep.

use slidegate_core::{Decisions, Limit, Summary, Verdict};
use smallvec::SmallVec;

use super::Gate;
use super::answer::Applied;
use super::charges::returns;
use super::in_flight::split_charges;
use crate::clock::Clock;
use slidegate_policy::{Choice, Hit, HitMode, Policy};
use slidegate_policy::{Request, RequestError};
use slidegate_store::{Charge, ChargeRequest, RefundScope, SyncStore};
use slidegate_store::{Key, Space};

/// What came of a request, as long as it is looked at.
#[derive(Clone, Copy, Debug)]
pub struct SyncAnswer<'a> {
    policy: &'a Policy,
    hits: &'a [Hit<'a>],
    verdict: &'a Verdict,
    barred: bool,
}

impl<'a> SyncAnswer<'a> {
    /// Whether the request may pass.
    #[inline]
    pub fn is_allowed(&self) -> bool {
        !self.barred && self.verdict.is_allowed()
    }

    /// What the rules say together.
    #[inline]
    pub fn verdict(&self) -> &'a Verdict {
        self.verdict
    }

    /// The numbers of the request: those of all its limits together.
    #[inline]
    pub fn summary(&self) -> Summary {
        let limits = self.hits.iter().flat_map(|hit| limits(self.policy, hit));
        Summary::new(self.verdict.source, limits.zip(&*self.verdict.decisions))
    }
}

#[inline]
fn limits<'a>(policy: &'a Policy, hit: &Hit<'_>) -> &'a [Limit] {
    policy.rules()[hit.rule].limit_sets()[hit.limit_set].limits()
}

impl<S: SyncStore, C: Clock> Gate<S, C> {
    /// [`Gate::check`] without a future. `None`, and nothing is decided, if the store has to wait, or if
    /// a rule is in observe mode, is `refundable` or has slots in flight.
    #[inline]
    pub fn check_now<T>(
        &self,
        request: &Request<'_>,
        respond: impl FnOnce(SyncAnswer<'_>) -> T,
    ) -> Result<Option<T>, RequestError> {
        if !self.store.is_sync() {
            return Ok(None);
        }
        let policy = &**self.policy.load();
        let choice = policy.choose(request)?;
        let (hits, barred) = match &choice {
            Choice::Hits(hits) => (&**hits, false),
            Choice::Blocked { .. } => (&[][..], true),
        };
        let is_plain = |hit: &Hit<'_>| {
            hit.mode == HitMode::Enforce && returns(policy, Applied::from(hit)) == RefundScope::Nothing
        };
        if !hits.iter().all(is_plain) {
            return Ok(None);
        }
        let (now_ms, cost) = (self.clock.now_ms(), request.requested_cost());
        if let Choice::Blocked { rule, reason: why } = &choice {
            self.report_blocked(policy, request, (*rule, *why), now_ms);
        }
        let charge = |hit: &'_ Hit<'_>| (policy.rules()[hit.rule].space(), limits(policy, hit));
        let verdict = match hits {
            [] => Some(Verdict::new(now_ms, Decisions::default())),
            [hit] => {
                let (space, limits) = charge(hit);
                let charges = [Charge { space, key: &hit.key, limits, cost }];
                self.store.try_decide_now(&ChargeRequest { now_ms, holder: 0, charges: &charges })
            }
            several => {
                let charges: SmallVec<[Charge<'_>; 4]> = several
                    .iter()
                    .map(|hit| {
                        let (space, limits) = charge(hit);
                        Charge { space, key: &hit.key, limits, cost }
                    })
                    .collect();
                self.store.try_decide_now(&ChargeRequest { now_ms, holder: 0, charges: &charges })
            }
        };
        let Some(verdict) = verdict else { return Ok(None) };
        if !barred {
            self.report_sync(policy, request, hits, &verdict);
        }
        Ok(Some(respond(SyncAnswer { policy, hits, verdict: &verdict, barred })))
    }

    /// [`Gate::limit_in`] without a future and without an id. `None`, and nothing is decided, if the
    /// store has to wait.
    #[inline]
    pub fn limit_now<'k>(
        &self,
        space: Space,
        key: impl Into<Key<'k>>,
        limit: &Limit,
        cost: u64,
    ) -> Option<Verdict> {
        let key = key.into();
        let limits = std::slice::from_ref(limit);
        let charges = [Charge { space, key: &key, limits, cost }];
        let holder = if limit.needs_id() { self.next_id() } else { 0 };
        let call = ChargeRequest { now_ms: self.clock.now_ms(), holder, charges: &split_charges(&charges) };
        let verdict = self.store.try_decide_now(&call)?;
        self.report_limit(&charges[0], None, Ok::<_, &S::Error>(&verdict));
        Some(verdict)
    }
}
