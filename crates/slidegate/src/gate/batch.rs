//! Several requests that are decided together: all are admitted, or none is charged.

mod answer;
mod item;

use futures_util::future::join_all;
use slidegate_core::{Decisions, Verdict};
use smallvec::SmallVec;

pub(in crate::gate) use answer::ItemRecord;
pub use answer::{BatchAnswer, ItemAnswer};
pub use item::BatchItem;
pub(in crate::gate) use item::{ItemLimits, MatchedItem};

use super::in_flight::split_charges;
use super::request::GateError;
use super::{Applied, Gate};
use crate::clock::Clock;
use item::charge;
use slidegate_policy::RequestError;
use slidegate_policy::{Hit, HitMode, Policy};
use slidegate_store::{Charge, ChargeRequest, MAX_LIMITS, Store};

impl<S: Store, C: Clock> Gate<S, C> {
    /// Decides several requests together: all are admitted, or none is charged. What they cost the same subject adds up.
    ///
    /// What is given back is given back afterwards, and only if all was admitted; so are rules asked that only look on.
    /// Where [`BatchAnswer::unanswered`] names a rule an observer is told that there was no answer.
    pub async fn check_all(&self, items: &[BatchItem<'_>]) -> Result<BatchAnswer, GateError<S::Error>> {
        let policy = self.policy();
        let mut matched: SmallVec<[MatchedItem<'_>; 2]> = SmallVec::with_capacity(items.len());
        for item in items {
            matched.push(MatchedItem::new(&policy, item)?);
        }
        let mut parts: SmallVec<[ItemRecord; 2]> = SmallVec::with_capacity(items.len());
        let mut limits = 0;
        for one in &matched {
            parts.push(ItemRecord::new(&policy, one, limits));
            limits = parts.last().map_or(0, |part| part.decisions.end);
        }
        if limits > MAX_LIMITS {
            return Err(RequestError::TooManyLimits { limits }.into());
        }
        for rule in matched.iter().flat_map(|one| &one.skipped) {
            policy.record_skip(*rule);
        }
        let verdict = self.decide_batch(&policy, &matched).await;
        let answers =
            verdict.map(|verdict| BatchAnswer { policy, verdict, parts, nodes: self.store.nodes() });
        self.report_batch(items, &matched, answers.as_ref());
        let mut answers = answers.map_err(GateError::Store)?;
        if answers.is_allowed() && matched.iter().any(|one| one.has_follow_up(&answers.policy)) {
            // In a box, as all that few requests come to.
            Box::pin(self.complete_batch(&matched, &mut answers)).await.map_err(GateError::Store)?;
            self.report_batch_dry_run(items, &matched, &answers);
        }
        Ok(answers)
    }

    /// What all limits that are enforced say. If one demand is refused anyhow, the others only look, so that what is told of them is true.
    async fn decide_batch(&self, policy: &Policy, matched: &[MatchedItem<'_>]) -> Result<Verdict, S::Error> {
        let is_barred = matched.iter().any(MatchedItem::is_barred);
        let mut charges: SmallVec<[Charge<'_>; 4]> = SmallVec::new();
        for one in matched {
            charges.extend(one.charges(policy, self.batch_space, if is_barred { 0 } else { one.cost }));
        }
        if charges.is_empty() {
            return Ok(Verdict::new(self.clock.now_ms(), Decisions::default()));
        }
        let held = charges.iter().flat_map(|charge| charge.limits).any(|limit| limit.needs_id());
        let holder = if held { self.next_id() } else { 0 };
        let charges = split_charges(&charges);
        let call = ChargeRequest { now_ms: self.clock.now_ms(), holder, charges: &charges };
        let mut verdict = self.store.decide(&call).await?;
        self.decide_overlaid(&charges, &mut verdict).await?;
        Ok(verdict)
    }

    /// What is done once all is admitted.
    async fn complete_batch(
        &self,
        matched: &[MatchedItem<'_>],
        answers: &mut BatchAnswer,
    ) -> Result<(), S::Error> {
        self.give_back_batch(matched, answers).await?;
        let BatchAnswer { policy, parts, .. } = answers;
        for (one, part) in matched.iter().zip(parts) {
            let said =
                join_all(one.hits(HitMode::Observe).map(|hit| self.dry_run_item(policy, one, hit))).await;
            part.observed = one.hits(HitMode::Observe).map(Applied::from).zip(said).collect();
        }
        Ok(())
    }

    /// Gives back what the rules allow that are enforced, and puts what is then left in the place of what was.
    async fn give_back_batch(
        &self,
        matched: &[MatchedItem<'_>],
        answers: &mut BatchAnswer,
    ) -> Result<(), S::Error> {
        let BatchAnswer { policy, verdict, parts, .. } = answers;
        let mut charges: SmallVec<[Charge<'_>; 2]> = SmallVec::new();
        let mut places: SmallVec<[usize; 4]> = SmallVec::new();
        for (one, part) in matched.iter().zip(parts.iter()).filter(|(one, _)| one.units > 0) {
            let mut begin = part.decisions.start;
            for hit in one.hits(HitMode::Enforce) {
                let given = charge(policy, hit, one.units);
                let end = begin + given.limits.len();
                if policy.rules()[hit.rule].refundable() {
                    places.extend(begin..end);
                    charges.push(given);
                }
                begin = end;
            }
        }
        if charges.is_empty() {
            return Ok(());
        }
        let call = ChargeRequest { now_ms: self.clock.now_ms(), holder: 0, charges: &charges };
        let mut left = self.store.give_back(&call).await?;
        self.decide_overlaid(&charges, &mut left).await?;
        if left.source.is_known() {
            for (place, decision) in places.into_iter().zip(&*left.decisions) {
                verdict.decisions[place] = *decision;
            }
        }
        Ok(())
    }

    /// What a rule that only looks on says to a demand.
    async fn dry_run_item(&self, policy: &Policy, one: &MatchedItem<'_>, hit: &Hit<'_>) -> Verdict {
        if one.units == 0 || !policy.rules()[hit.rule].refundable() {
            let charge = charge(policy, hit, one.cost);
            return self.decide_dry_run(&charge, Some(self.next_id())).await;
        }
        let now_ms = self.clock.now_ms();
        let charges = [charge(policy, hit, one.units)];
        let left = self.store.give_back(&ChargeRequest { now_ms, holder: 0, charges: &charges }).await;
        left.unwrap_or_else(|_| Verdict::new(now_ms, Decisions::default()))
    }
}
