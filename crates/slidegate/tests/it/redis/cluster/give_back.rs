//! Permits for several subjects: what they recorded is replaced in every slot, once, as in memory.

use std::time::Duration;

use slidegate::store::{Charge, ChargeRecord, ChargeRequest, Settlement};
use slidegate::{Admission, Limit, Memory, Redis, RefundScope, ReserveRequest, SettleOutcome, Store};
use slidegate_core::Receipt;
use slidegate_testkit::servers::{Cluster, Flavour};

use super::space;
use crate::redis::cross_slot::{NOW_MS, Subject, config, subjects};

/// Two stores that have to say the same.
struct Both {
    redis: Redis,
    memory: Memory,
    subjects: Vec<Subject>,
}

impl Both {
    /// The same cost for every subject, under this id.
    async fn charge(&self, id: u64, cost: u64) -> Admission {
        let charges: Vec<Charge<'_>> = self
            .subjects
            .iter()
            .map(|subject| Charge { space: space(), key: &subject.key, limits: &subject.limits, cost })
            .collect();
        let call = ChargeRequest { now_ms: NOW_MS, holder: id, charges: &charges };
        let request = ReserveRequest { charge: call, refunds: &vec![RefundScope::Everything; charges.len()] };
        let admission = self.redis.reserve(&request).await.expect("a decision");
        assert_eq!(admission, self.memory.reserve_now(&request));
        admission
    }

    /// Settles what a charge recorded.
    async fn settle(&self, id: u64, recorded: (&Admission, u64), cost: u64) -> SettleOutcome {
        let (Admission { verdict, grants: granted }, recorded) = recorded;
        let mut stamps = verdict.decisions.iter().map(|decision| decision.stamp_ms);
        let mut charged = |(index, subject): (usize, &Subject)| {
            let receipts = subject.limits.iter().map(|limit| {
                let stamp_ms = stamps.next().expect("a decision for every limit");
                (limit.id(), Receipt { stamp_ms, cost: recorded, holder: id })
            });
            let receipts = receipts.collect();
            let grant = granted.of(index).expect("a permit");
            ChargeRecord { space: space(), key: subject.key.clone(), grant, receipts }
        };
        let subjects = self.subjects.iter().enumerate().map(&mut charged).collect();
        let settlement = Settlement { now_ms: NOW_MS + 1, id, cost, slots: cost, subjects };
        let outcomes = self.redis.settle(&settlement).await.expect("a settlement");
        assert_eq!(outcomes, self.memory.settle_now(&settlement));
        SettleOutcome::of_all(&outcomes)
    }

    /// What remains of every limit of every subject, if it is the same for all.
    async fn remaining(&self) -> u64 {
        let verdict = self.charge(0, 0).await.verdict;
        let left: Vec<u64> = verdict.decisions.iter().map(|decision| decision.remaining).collect();
        assert!(left.iter().all(|other| *other == left[0]), "{left:?}");
        left[0]
    }
}

#[tokio::test]
async fn a_permit_for_several_slots_is_settled_once() {
    let cluster = Cluster::start(Flavour::Redis70);
    let log = Limit::per_hour(9);
    let places = Limit::in_flight(9, Duration::from_secs(3_600));
    let limits = [Ok(log), log.counter(), log.fixed(), places].map(|limit| limit.expect("a limit"));
    let subjects = subjects(&cluster, &vec![limits.to_vec(); 3]);
    let redis = Redis::by_callers_clock(&config(&cluster));
    let both = Both { redis, memory: Memory::new(1 << 20), subjects };

    let first = both.charge(1, 4).await;
    let second = both.charge(2, 5).await;
    assert_eq!((first.is_admitted(), second.is_admitted(), both.remaining().await), (true, true, 0));
    assert_eq!(both.settle(1, (&first, 4), 1).await, SettleOutcome::Settled);
    assert_eq!(both.remaining().await, 3, "4 became 1");
    assert_eq!(both.settle(1, (&first, 4), 0).await, SettleOutcome::AlreadySpent);
    assert_eq!(both.remaining().await, 3, "a permit is good for once");
    assert_eq!(both.settle(2, (&second, 5), 0).await, SettleOutcome::Settled);
    assert_eq!(both.remaining().await, 8, "5 were given back");
    let third = both.charge(3, 1).await;
    assert_eq!(both.settle(3, (&third, 1), 20).await, SettleOutcome::Settled);
    assert_eq!(both.remaining().await, 0, "what was used counts, beyond the quota too");
}
