//! Rules that only look on: decided by themselves, of requests that were admitted.

use futures_util::future::join_all;
use slidegate_core::{Decisions, Verdict};

use super::Gate;
use super::answer::Applied;
use super::charges::Charges;
use super::in_flight::split_charges;
use crate::clock::Clock;
use crate::permit::Permit;
use slidegate_policy::{Hit, HitMode, Policy};
use slidegate_store::Space;
use slidegate_store::{
    Admission, Charge, ChargeRequest, IdempotentOutcome, RefundScope, ReserveRequest, Store,
};

/// What came of an admitted request beside the rules that are enforced.
pub(super) struct DryRun {
    pub(super) observed: Vec<(Applied, Verdict)>,
    pub(super) permit: Option<Permit>,
    /// Whether all rules that only look on had been charged before.
    pub(super) replayed: bool,
}

impl<S: Store, C: Clock> Gate<S, C> {
    /// What the rules among `looks` say that only look on, and a permit for what can be given back.
    pub(super) async fn complete(
        &self,
        policy: &Policy,
        (enforced, admission): (&Charges<'_>, &Admission),
        dry_run_hits: &[Hit<'_>],
        (id, idempotency_key): (Option<u64>, Option<&str>),
    ) -> DryRun {
        let observed = Charges::of(policy, dry_run_hits, HitMode::Observe, enforced.cost);
        let per_rule = observed.per_rule().map(|part| self.charge_dry_run(part, id, idempotency_key));
        let (admissions, holders): (Vec<Admission>, Vec<Option<u64>>) =
            join_all(per_rule).await.into_iter().unzip();
        let first = holders.iter().find_map(|holder| *holder);
        let replayed = first.is_some() && holders.iter().all(Option::is_some);
        let id = id.map(|id| first.unwrap_or(id));
        let Admission { verdict, grants: granted } = admission;
        let refundable_parts =
            enforced.refundable_parts(verdict, granted).chain(observed.refundable_per_rule(&admissions));
        let permit = id.and_then(|id| self.signer.issue(id, refundable_parts));
        let admissions = admissions.into_iter().map(|admission| admission.verdict);
        DryRun { observed: observed.applied.into_iter().zip(admissions).collect(), permit, replayed }
    }

    /// What a rule that only looks on would have said, by itself. That a store does not answer is nothing to it.
    pub(super) async fn decide_dry_run(&self, charge: &Charge<'_>, id: Option<u64>) -> Verdict {
        let charges = split_charges(std::slice::from_ref(charge));
        self.charge_dry_run((&charges, &[]), id, None).await.0.verdict
    }

    /// The same with permits, and under which id it was charged if that was before. Nor is it anything to it that there is no room to
    /// remember it.
    async fn charge_dry_run(
        &self,
        (charges, returns): (&[Charge<'_>], &[RefundScope]),
        id: Option<u64>,
        idempotency_key: Option<&str>,
    ) -> (Admission, Option<u64>) {
        let now_ms = self.clock.now_ms();
        let call = ChargeRequest { now_ms, holder: id.unwrap_or(0), charges };
        let request = ReserveRequest { charge: call, refunds: returns };
        let decided = match (idempotency_key, charges) {
            (Some(key), [charge, ..]) => {
                self.store.decide_idempotent(&request, &dry_run_key(charge, key)).await
            }
            _ => self.store.reserve(&request).await.map(IdempotentOutcome::Decided),
        };
        match decided {
            Ok(IdempotentOutcome::Decided(admission)) => (admission, None),
            Ok(IdempotentOutcome::Replayed { admission, holder }) => (admission, Some(holder)),
            Ok(IdempotentOutcome::Conflict | IdempotentOutcome::Full) | Err(_) => {
                (Verdict::new(now_ms, Decisions::default()).into(), None)
            }
        }
    }
}

/// The idempotency key of a rule that only looks on. The keys of callers are UTF-8, so none of them is this.
fn dry_run_key(charge: &Charge<'_>, idempotency_key: &str) -> Vec<u8> {
    let Space(space) = charge.space;
    let space = space.iter().flat_map(|word| word.to_le_bytes());
    [0xff].into_iter().chain(space).chain(idempotency_key.bytes()).collect()
}
