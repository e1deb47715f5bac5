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
use slidegate_store::{Charge, ChargeRequest, RefundScope, Store};
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

impl<S: Store, C: Clock> Gate<S, C> {
    /// [`Gate::check`] where `decide` asks this gate's store, which does not wait. `None` if a rule only looks on, or gives something
    /// back: then nothing was decided.
    #[inline]
    pub fn check_at_once<T>(
        &self,
        request: &Request<'_>,
        decide: impl FnOnce(&ChargeRequest<'_>) -> Verdict,
        tell: impl FnOnce(SyncAnswer<'_>) -> T,
    ) -> Result<Option<T>, RequestError> {
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
            [] => Verdict::new(now_ms, Decisions::default()),
            [hit] => {
                let (space, limits) = charge(hit);
                let charges = [Charge { space, key: &hit.key, limits, cost }];
                decide(&ChargeRequest { now_ms, holder: 0, charges: &charges })
            }
            several => {
                let charges: SmallVec<[Charge<'_>; 4]> = several
                    .iter()
                    .map(|hit| {
                        let (space, limits) = charge(hit);
                        Charge { space, key: &hit.key, limits, cost }
                    })
                    .collect();
                decide(&ChargeRequest { now_ms, holder: 0, charges: &charges })
            }
        };
        if !barred {
            self.report_sync(policy, request, hits, &verdict);
        }
        Ok(Some(tell(SyncAnswer { policy, hits, verdict: &verdict, barred })))
    }

    /// [`Gate::limit_in`] without an id, where `decide` asks this gate's store, which does not wait.
    #[inline]
    pub fn limit_at_once<'k>(
        &self,
        space: Space,
        key: impl Into<Key<'k>>,
        limit: &Limit,
        cost: u64,
        decide: impl FnOnce(&ChargeRequest<'_>) -> Verdict,
    ) -> Verdict {
        let key = key.into();
        let limits = std::slice::from_ref(limit);
        let charges = [Charge { space, key: &key, limits, cost }];
        let holder = if limit.needs_id() { self.next_id() } else { 0 };
        let verdict =
            decide(&ChargeRequest { now_ms: self.clock.now_ms(), holder, charges: &split_charges(&charges) });
        self.report_limit(&charges[0], None, Ok::<_, &S::Error>(&verdict));
        verdict
    }
}
