//! Overlaid limits: those that share one history in a batch, with different quotas. A store decides
//! them together, by the strictest; the others are then decided by themselves, so that the numbers
//! of each are true of its own quota.

use slidegate_core::{Decision, Limit, Verdict};
use smallvec::SmallVec;

use super::Gate;
use super::inspect::never;
use crate::clock::Clock;
use slidegate_store::{Charge, ChargeRequest, Store, is_stricter};

/// Limit that a stricter one decided for.
struct OverlaidLimit<'a> {
    /// Index of its decision.
    at: usize,
    /// Its subject, with all costs of the call there.
    charge: Charge<'a>,
}

impl<S: Store, C: Clock> Gate<S, C> {
    /// Replaces the decisions of overlaid limits by their own.
    pub(super) async fn decide_overlaid(
        &self,
        charges: &[Charge<'_>],
        verdict: &mut Verdict,
    ) -> Result<(), S::Error> {
        let overlaid_limits = overlaid_limits(charges);
        if overlaid_limits.is_empty() || !verdict.source.has_numbers() {
            return Ok(());
        }
        let is_allowed = verdict.is_allowed();
        for OverlaidLimit { at, charge } in overlaid_limits {
            let own = self.decide_alone(charge, is_allowed).await?;
            // Decisions of different sources are not mixed.
            if let (true, Some(decision)) = (own.source == verdict.source, own.decisions.first()) {
                let stamp_ms = verdict.decisions[at].stamp_ms;
                verdict.decisions[at] = Decision { stamp_ms, ..*decision };
            }
        }
        Ok(())
    }

    /// Decides one limit without charging it: its state after the charge, or its answer to the cost
    /// that was denied.
    async fn decide_alone(&self, charge: Charge<'_>, is_allowed: bool) -> Result<Verdict, S::Error> {
        let (now_ms, holder) = (self.clock.now_ms(), self.next_id());
        if is_allowed {
            let charges = [Charge { cost: 0, ..charge }];
            return self.store.decide(&ChargeRequest { now_ms, holder, charges: &charges }).await;
        }
        let charges = [charge, never(charge.key)];
        self.store.decide(&ChargeRequest { now_ms, holder, charges: &charges }).await
    }
}

/// Limits of these charges that share their history with a stricter one.
fn overlaid_limits<'c>(charges: &[Charge<'c>]) -> SmallVec<[OverlaidLimit<'c>; 1]> {
    let mut found = SmallVec::new();
    if charges.len() < 2 {
        return found;
    }
    let mut at = 0;
    for charge in charges {
        for limit in charge.limits {
            let meeting = || {
                let of_subject =
                    charges.iter().filter(|other| other.space == charge.space && other.key == charge.key);
                let with = move |other: &Charge<'c>| find(other.limits, limit).map(|met| (met, other.cost));
                of_subject.filter_map(with)
            };
            if meeting().any(|(other, _)| is_stricter(other, limit)) {
                let cost = meeting().map(|(_, cost)| cost).fold(0, u64::saturating_add);
                let limits = std::slice::from_ref(limit);
                found.push(OverlaidLimit { at, charge: Charge { limits, cost, ..*charge } });
            }
            at += 1;
        }
    }
    found
}

/// The limit among these with the same history.
fn find<'c>(limits: &'c [Limit], of: &Limit) -> Option<&'c Limit> {
    limits.iter().find(|limit| limit.id() == of.id())
}
