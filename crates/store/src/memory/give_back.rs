//! Units given back without a permit.

use slidegate_core::{Decisions, MAX_TIME_MS, Verdict, evaluate, give_back};

use super::Memory;
use super::multi_subject::{LoadedSubject, ShardGuards};
use super::subject::SubjectState;
use crate::ChargeRequest;

impl Memory {
    /// [`Store::give_back`](crate::Store::give_back) without waiting, which cannot fail.
    pub fn give_back_now(&self, call: &ChargeRequest<'_>) -> Verdict {
        self.with_subjects(call, |subjects, guards| {
            let answers: Vec<Decisions> =
                subjects.iter_mut().map(|loaded| self.give_back_to(loaded, guards, call)).collect();
            let decisions = answers.iter().flat_map(|decisions| decisions.iter().copied()).collect();
            Verdict::new(call.now_ms.min(MAX_TIME_MS), decisions)
        })
    }

    /// A subject may need another layout afterwards, and a clock repair more memory. Without that
    /// memory nothing is given back, which is the safe direction.
    fn give_back_to(
        &self,
        loaded: &mut LoadedSubject,
        guards: &mut ShardGuards<'_>,
        call: &ChargeRequest<'_>,
    ) -> Decisions {
        let ChargeRequest { now_ms, holder, .. } = *call;
        let answer = give_back(&mut loaded.attempts(holder), now_ms);
        loaded.subject.drop_idle(now_ms);
        if loaded.cost() == 0 || loaded.subject.is_empty() {
            return answer.decisions;
        }
        let footprint = loaded.subject.footprint(loaded.subject.budgeted_layout(&self.interner));
        let shard = guards.shard(loaded.shard);
        let reserved = shard.reserve_memory(&self.interner, &mut loaded.subject, footprint, now_ms);
        match &loaded.original {
            Some(original) if reserved.is_err() => {
                loaded.subject = SubjectState { budgeted: loaded.subject.budgeted, ..original.clone() };
                loaded.limits.iter_mut().for_each(|(_, units)| *units = 0);
                loaded.align();
                evaluate(&mut loaded.attempts(holder), now_ms).decisions
            }
            _ => answer.decisions,
        }
    }
}
