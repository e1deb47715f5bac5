//! Follow-up of an admission: units to give back, dry runs, and the permit.

use futures_util::future::join_all;
use slidegate_core::{Decisions, Verdict};
use smallvec::SmallVec;

use super::Gate;
use super::active_policy::ActivePolicy;
use super::charges::{Charges, Permits, charge};
use super::item::{MatchedItem, is_blocked};
use crate::clock::Clock;
use crate::permit::UnsignedPermit;
use slidegate_policy::{Hit, HitMode, Policy};
use slidegate_store::{Admission, Charge, ChargeRequest, IdempotentOutcome, Memory, Space, Store};

/// Result of a follow-up.
#[derive(Default, Debug)]
pub(super) struct FollowUp {
    /// Verdicts of the rules in observe mode, item by item.
    pub(super) dry_runs: Vec<Verdict>,
    pub(super) permit: Option<UnsignedPermit>,
    /// Whether the request was charged before, under the same idempotency key.
    pub(super) replayed: bool,
}

/// Subject of a follow-up: the charges of the enforced rules.
#[derive(Clone, Copy)]
pub(super) struct FollowUpOf<'a, 'c> {
    pub(super) charges: &'a Charges<'c>,
    pub(super) permits: Permits,
    /// Id of the request, where it needs one.
    pub(super) id: Option<u64>,
    /// Idempotency key of the dry runs: where no rule is enforced, nothing else remembers it.
    pub(super) key: Option<&'a str>,
}

/// Charge of a rule in observe mode, which is decided by itself.
struct DryRun<'a> {
    charges: Charges<'a>,
    admission: Admission,
    /// Id under which it was charged before.
    replayed: Option<u64>,
}

/// Whether there is something left to do after the decision of the enforced rules.
#[inline]
pub(super) fn needs_follow_up(items: &[MatchedItem<'_>], id: Option<u64>, verdict: &Verdict) -> bool {
    let is_needed = id.is_some() || items.iter().any(MatchedItem::has_follow_up);
    is_needed && verdict.is_allowed() && !is_blocked(items)
}

impl<S: Store, C: Clock> Gate<S, C> {
    /// Follow-up of items that the enforced rules admitted.
    pub(super) async fn follow_up(
        &self,
        policy: &ActivePolicy,
        items: &[MatchedItem<'_>],
        of: FollowUpOf<'_, '_>,
        admission: &mut Admission,
        replayed: bool,
    ) -> Result<FollowUp, S::Error> {
        self.give_back(policy, items, &mut admission.verdict).await?;
        let mut dry_runs = Vec::new();
        if !replayed {
            for item in items {
                let hits = item.hits_in(HitMode::Observe);
                dry_runs.extend(join_all(hits.map(|hit| self.dry_run(policy, item, hit, of))).await);
            }
        }
        let follow_up = FollowUp::new(of, admission, dry_runs, replayed);
        if !follow_up.replayed {
            self.report_dry_runs(policy, items, (&follow_up.dry_runs, admission.verdict.decided_at_ms));
        }
        Ok(follow_up)
    }

    /// Gives back what the enforced rules allow, and replaces their decisions by what is left then.
    async fn give_back(
        &self,
        policy: &Policy,
        items: &[MatchedItem<'_>],
        verdict: &mut Verdict,
    ) -> Result<(), S::Error> {
        let mut charges: SmallVec<[Charge<'_>; 2]> = SmallVec::new();
        let mut indexes: SmallVec<[usize; 4]> = SmallVec::new();
        let mut first = 0;
        for item in items {
            for hit in item.hits_in(HitMode::Enforce) {
                let charge = charge(policy, hit, item.units);
                let next = first + charge.limits.len();
                if item.units > 0 && policy.rules()[hit.rule].refundable() {
                    indexes.extend(first..next);
                    charges.push(charge);
                }
                first = next;
            }
            first += item.ad_hoc_limits();
        }
        if charges.is_empty() {
            return Ok(());
        }
        let call = ChargeRequest { now_ms: self.clock.now_ms(), holder: 0, charges: &charges };
        let mut left = self.store.give_back(&call).await?;
        self.decide_overlaid(&charges, &mut left).await?;
        if left.source.has_numbers() {
            for (index, decision) in indexes.into_iter().zip(&*left.decisions) {
                verdict.decisions[index] = *decision;
            }
        }
        Ok(())
    }

    /// Decides a rule in observe mode by itself. A store that does not answer, or has no room to
    /// remember the key, is no error here.
    async fn dry_run<'a>(
        &self,
        policy: &'a Policy,
        item: &MatchedItem<'_>,
        hit: &'a Hit<'_>,
        of: FollowUpOf<'_, '_>,
    ) -> DryRun<'a> {
        let now_ms = self.clock.now_ms();
        let unknown = || Verdict::new(now_ms, Decisions::default());
        if item.units > 0 && policy.rules()[hit.rule].refundable() {
            let charges = [charge(policy, hit, item.units)];
            let left = self.store.give_back(&ChargeRequest { now_ms, holder: 0, charges: &charges }).await;
            let admission = left.unwrap_or_else(|_| unknown()).into();
            return DryRun { charges: Charges::default(), admission, replayed: None };
        }
        let charges = Charges::of_hit(policy, hit, item.cost, of.permits);
        let request = charges.request(now_ms, self.dry_run_id(of));
        let decided = match (of.key, &*charges.charges) {
            (Some(key), [charge, ..]) => {
                self.store.decide_idempotent(&request, &dry_run_key(charge, key)).await
            }
            _ => self.store.reserve(&request).await.map(IdempotentOutcome::Decided),
        };
        let (admission, replayed) = match decided {
            Ok(IdempotentOutcome::Decided(admission)) => (admission, None),
            Ok(IdempotentOutcome::Replayed { admission, holder }) => (admission, Some(holder)),
            Ok(IdempotentOutcome::Conflict | IdempotentOutcome::Full) | Err(_) => (unknown().into(), None),
        };
        DryRun { charges, admission, replayed }
    }
}

impl<S, C: Clock> Gate<S, C> {
    /// [`Gate::follow_up`] of a single request, without a future.
    pub(super) fn follow_up_now(
        &self,
        memory: &Memory,
        policy: &ActivePolicy,
        item: &MatchedItem<'_>,
        of: FollowUpOf<'_, '_>,
        admission: &Admission,
    ) -> FollowUp {
        let dry_runs = item.hits_in(HitMode::Observe).map(|hit| {
            let charges = Charges::of_hit(policy, hit, item.cost, of.permits);
            let admission = memory.reserve_now(&charges.request(self.clock.now_ms(), self.dry_run_id(of)));
            DryRun { charges, admission, replayed: None }
        });
        let follow_up = FollowUp::new(of, admission, dry_runs.collect(), false);
        let items = std::slice::from_ref(item);
        self.report_dry_runs(policy, items, (&follow_up.dry_runs, admission.verdict.decided_at_ms));
        follow_up
    }

    /// Id of a dry run. Items of a batch may have one subject: each takes a slot of its own.
    fn dry_run_id(&self, of: FollowUpOf<'_, '_>) -> Option<u64> {
        match of.permits {
            Permits::Open => of.id,
            Permits::None => Some(self.next_id()),
        }
    }
}

impl FollowUp {
    fn new(of: FollowUpOf<'_, '_>, admission: &Admission, dry_runs: Vec<DryRun<'_>>, replayed: bool) -> Self {
        let first = dry_runs.iter().find_map(|dry_run| dry_run.replayed);
        let all_replayed = first.is_some() && dry_runs.iter().all(|dry_run| dry_run.replayed.is_some());
        let enforced = of.charges.refundable_parts(admission);
        let observed =
            dry_runs.iter().flat_map(|dry_run| dry_run.charges.refundable_parts(&dry_run.admission));
        let id = of.id.filter(|_| of.permits == Permits::Open).map(|id| first.unwrap_or(id));
        let permit = id.and_then(|id| UnsignedPermit::new(id, enforced.chain(observed)));
        let dry_runs = dry_runs.into_iter().map(|dry_run| dry_run.admission.verdict).collect();
        Self { dry_runs, permit, replayed: replayed || all_replayed }
    }
}

/// Idempotency key of a dry run. The keys of callers are UTF-8, so none of them equals it.
fn dry_run_key(charge: &Charge<'_>, idempotency_key: &str) -> Vec<u8> {
    let Space(space) = charge.space;
    let space = space.iter().flat_map(|word| word.to_le_bytes());
    [0xff].into_iter().chain(space).chain(idempotency_key.bytes()).collect()
}
