//! Units given back without a permit.

use slidegate_core::{Decisions, MAX_TIME_MS, Verdict, evaluate, give_back};

use super::Memory;
use super::multi_subject::{Guest, Hall};
use super::subject::Subject;
use crate::ChargeRequest;

impl Memory {
    /// [`Store::give_back`](crate::Store::give_back) without waiting, which cannot fail.
    pub fn give_back_now(&self, call: &ChargeRequest<'_>) -> Verdict {
        self.host(call, |guests, hall| {
            let given: Vec<Decisions> =
                guests.iter_mut().map(|guest| self.give_back_to(guest, hall, call)).collect();
            let decisions = given.iter().flat_map(|decisions| decisions.iter().copied()).collect();
            Verdict::new(call.now_ms.min(MAX_TIME_MS), decisions)
        })
    }

    /// What is left takes no more units, but may take another place, and a repair of the clock more memory. Where there is none, it
    /// is as if nothing had been given back: the safe direction.
    fn give_back_to(&self, guest: &mut Guest, hall: &mut Hall<'_>, call: &ChargeRequest<'_>) -> Decisions {
        let ChargeRequest { now_ms, holder, .. } = *call;
        let given = give_back(&mut guest.attempts(holder), now_ms);
        guest.subject.drop_idle(now_ms);
        if guest.cost() == 0 || guest.subject.is_empty() {
            return given.decisions;
        }
        let footprint = guest.subject.footprint(guest.subject.booked_shape(&self.registry));
        let shard = hall.shard(guest.shard);
        let room = shard.set_aside(&self.registry, &mut guest.subject, footprint, now_ms);
        match &guest.original {
            Some(original) if room.is_err() => {
                guest.subject = Subject { booked: guest.subject.booked, ..original.clone() };
                guest.limits.iter_mut().for_each(|(_, units)| *units = 0);
                guest.line_up();
                evaluate(&mut guest.attempts(holder), now_ms).decisions
            }
            _ => given.decisions,
        }
    }
}
