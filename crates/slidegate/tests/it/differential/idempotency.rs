//! Requests under idempotency keys.

use slidegate::store::{Charge, ChargeRequest};
use slidegate::{IdempotentOutcome, Key, Limit, LimitId, RefundScope, ReserveRequest, Space, Verdict};
use slidegate_core::MAX_TIME_MS;

use super::requests::Verb;
use super::{Both, Way};
use crate::drivers::Driver;

/// Stored answer under an idempotency key.
pub(super) struct StoredAnswer {
    request: (String, u64, Vec<LimitId>),
    verdict: Verdict,
    id: u64,
    end_ms: u64,
}

impl<S: Driver> Both<S> {
    /// Checks under an idempotency key: the first time it is charged, then its answer is replayed.
    pub(super) fn once(&mut self, key: usize, cost: u64, name: usize) -> Result<(), String> {
        self.ids += 1;
        let now_ms = self.now_ms.min(MAX_TIME_MS);
        let key_name = self.keys[key].name.clone();
        let limits = self.limits_in_force();
        let wanted = (key_name, cost, limits.iter().map(Limit::id).collect::<Vec<_>>());
        let store_key: Key<'_> = wanted.0.as_str().into();
        let charges = [Charge { space: Space::named(""), key: &store_key, limits: &limits, cost }];
        let call = ChargeRequest { now_ms: self.now_ms, holder: self.ids, charges: &charges };
        let request = ReserveRequest { charge: call, refunds: &[RefundScope::Everything] };
        let got = self.store.once(&request, &format!("{} {name}", self.senders));
        let stored = self.answers[name].as_ref().filter(|stored| stored.end_ms > now_ms);
        let admission = match (stored, got) {
            (Some(stored), IdempotentOutcome::Replayed { admission, holder }) if stored.request == wanted => {
                let right = (&admission.verdict, holder) == (&stored.verdict, stored.id);
                return right.then_some(()).ok_or(format!("replayed {admission:?} of {holder}"));
            }
            (Some(stored), IdempotentOutcome::Conflict) if stored.request != wanted => return Ok(()),
            (None, IdempotentOutcome::Decided(admission)) => admission,
            (stored, got) => {
                let stored = stored.map(|stored| &stored.request);
                return Err(format!("{got:?} for {wanted:?}, stored {stored:?}"));
            }
        };
        let expected = self.run_on_core(Verb::Decide, &[key], cost);
        let mut verdict = admission.verdict.clone();
        verdict.decided_at_ms = verdict.decided_at_ms.min(MAX_TIME_MS);
        if verdict != expected {
            return Err(format!("once {verdict:?}, not {expected:?}"));
        }
        if expected.is_allowed() {
            let shortest_ms = limits.iter().map(Limit::window_ms).min().unwrap_or(0);
            let (end_ms, id) = (now_ms + shortest_ms.min(60_000), self.ids);
            let verdict = admission.verdict;
            self.answers[name] = Some(StoredAnswer { request: wanted, verdict, id, end_ms });
        }
        self.permit(&[key], cost, (Way::Together, RefundScope::Everything), (&expected, admission.grants))
    }
}
