//! Rules that only look on: decided by themselves, of requests that were admitted.

use futures_util::future::join_all;
use slidegate_core::{Decisions, Verdict};

use super::Gate;
use super::answer::Applied;
use super::charges::Asked;
use super::in_flight::charged;
use crate::clock::Clock;
use crate::permit::Permit;
use slidegate_policy::{Hit, HitMode, Policy};
use slidegate_store::Space;
use slidegate_store::{Admission, Call, Charge, Once, Reserve, Returns, Store};

/// What came of an admitted request beside the rules that are enforced.
pub(super) struct Completed {
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
        (enforced, admission): (&Asked<'_>, &Admission),
        looks: &[Hit<'_>],
        (id, idempotency_key): (Option<u64>, Option<&str>),
    ) -> Completed {
        let observed = Asked::of(policy, looks, HitMode::Observed, enforced.cost);
        let apart = observed.apart().map(|part| self.charge_apart(part, id, idempotency_key));
        let (said, holders): (Vec<Admission>, Vec<Option<u64>>) = join_all(apart).await.into_iter().unzip();
        let first = holders.iter().find_map(|holder| *holder);
        let replayed = first.is_some() && holders.iter().all(Option::is_some);
        let id = id.map(|id| first.unwrap_or(id));
        let Admission { verdict, granted } = admission;
        let recorded = enforced.recorded(verdict, granted).chain(observed.recorded_apart(&said));
        let permit = id.and_then(|id| self.signer.issue(id, recorded));
        let said = said.into_iter().map(|admission| admission.verdict);
        Completed { observed: observed.applied.into_iter().zip(said).collect(), permit, replayed }
    }

    /// What a rule that only looks on would have said, by itself. That a store does not answer is nothing to it.
    pub(super) async fn ask_apart(&self, charge: &Charge<'_>, id: Option<u64>) -> Verdict {
        let charges = charged(std::slice::from_ref(charge));
        self.charge_apart((&charges, &[]), id, None).await.0.verdict
    }

    /// The same with permits, and under which id it was charged if that was before. Nor is it anything to it that there is no room to
    /// remember it.
    async fn charge_apart(
        &self,
        (charges, returns): (&[Charge<'_>], &[Returns]),
        id: Option<u64>,
        idempotency_key: Option<&str>,
    ) -> (Admission, Option<u64>) {
        let now_ms = self.clock.now_ms();
        let call = Call { now_ms, holder: id.unwrap_or(0), charges };
        let request = Reserve { call, returns };
        let decided = match (idempotency_key, charges) {
            (Some(key), [charge, ..]) => self.store.decide_once(&request, &key_apart(charge, key)).await,
            _ => self.store.reserve(&request).await.map(Once::Decided),
        };
        match decided {
            Ok(Once::Decided(admission)) => (admission, None),
            Ok(Once::Replayed { admission, holder }) => (admission, Some(holder)),
            Ok(Once::Conflict | Once::Full) | Err(_) => {
                (Verdict::new(now_ms, Decisions::default()).into(), None)
            }
        }
    }
}

/// The idempotency key of a rule that only looks on. The keys of callers are UTF-8, so none of them is this.
fn key_apart(charge: &Charge<'_>, idempotency_key: &str) -> Vec<u8> {
    let Space(space) = charge.space;
    let space = space.iter().flat_map(|word| word.to_le_bytes());
    [0xff].into_iter().chain(space).chain(idempotency_key.bytes()).collect()
}
