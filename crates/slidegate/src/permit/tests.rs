//! Permits for several subjects: what is written in, and how it is settled in parts.

use std::time::Duration;

use slidegate_core::Verdict;

use super::*;
use slidegate_store::memory::Memory;
use slidegate_store::{Admission, ChargeRequest, ReserveRequest, SettleOutcome};

const NOW_MS: u64 = 1_000_000;
const ID: u64 = 7;

/// Two subjects, each with something to use up and something to hold.
struct Scene {
    store: Memory,
    signer: Signer,
    keys: [Key<'static>; 2],
    limits: [Limit; 2],
}

impl Scene {
    fn new() -> Self {
        let hold = Limit::in_flight(10, Duration::from_secs(60)).expect("a limit");
        let (store, signer) = (Memory::new(0), Signer::new(&[7; 32]));
        let keys = ["alice", "bob"].map(Key::from);
        Self { store, signer, keys, limits: [Limit::per_minute(10), hold] }
    }

    fn charges(&self, cost: u64) -> [Charge<'_>; 2] {
        [0, 1].map(|n| Charge { space: Space::named(""), key: &self.keys[n], limits: &self.limits, cost })
    }

    fn decide(&self, cost: u64) -> Verdict {
        self.store.decide_now(&ChargeRequest { now_ms: NOW_MS, holder: ID, charges: &self.charges(cost) })
    }

    /// A permit for a request of three units to both.
    fn permit(&self, returns: [RefundScope; 2]) -> Option<Permit> {
        let charges = self.charges(3);
        let call = ChargeRequest { now_ms: NOW_MS, holder: ID, charges: &charges };
        let Admission { verdict, grants: granted } =
            self.store.reserve_now(&ReserveRequest { charge: call, refunds: &returns });
        assert_eq!(self.remaining(), [7; 4]);
        let parts = charges.iter().zip(verdict.decisions.chunks(2)).zip(returns).enumerate();
        let parts = parts.filter_map(|(index, ((charge, decisions), returns))| {
            Some(Refundable { charge, decisions, returns, grant: granted.of(index)? })
        });
        UnsignedPermit::new(ID, parts).map(|permit| self.signer.sign(&permit))
    }

    fn remaining(&self) -> Vec<u64> {
        self.decide(0).decisions.iter().map(|decision| decision.remaining).collect()
    }

    fn settle(&self, permit: &Permit, cost: u64) -> Vec<SettleOutcome> {
        self.store.settle_now(&self.signer.open(permit, cost, NOW_MS).expect("ours"))
    }
}

#[test]
fn a_permit_gives_back_what_is_written_in() {
    use RefundScope::{Everything, InFlight};
    let cases = [
        ([Everything, Everything], [10; 4]),
        ([InFlight, InFlight], [7, 10, 7, 10]),
        ([Everything, InFlight], [10, 10, 7, 10]),
        ([InFlight, Everything], [7, 10, 10, 10]),
    ];
    for (returns, left) in cases {
        let scene = Scene::new();
        let permit = scene.permit(returns).expect("a permit");
        assert_eq!(scene.settle(&permit, 0), [SettleOutcome::Settled; 2]);
        assert_eq!(scene.remaining(), left, "{returns:?}");
    }
}

#[test]
fn places_are_released_and_the_rest_is_settled_once() {
    let scene = Scene::new();
    let permit = scene.permit([RefundScope::Everything; 2]).expect("a permit");
    assert_eq!(scene.settle(&permit, 5), [SettleOutcome::Settled; 2]);
    assert_eq!(scene.remaining(), [5, 10, 5, 10]);
    assert_eq!(scene.settle(&permit, 0), [SettleOutcome::AlreadySpent; 2]);
    assert_eq!(scene.remaining(), [5, 10, 5, 10]);
}

#[test]
fn what_is_not_written_in_costs_what_it_cost() {
    let scene = Scene::new();
    let permit = scene.permit([RefundScope::InFlight; 2]).expect("a permit");
    assert_eq!(scene.settle(&permit, 5), [SettleOutcome::Settled; 2]);
    assert_eq!(scene.remaining(), [7, 10, 7, 10]);
    assert_eq!(scene.settle(&permit, 5), [SettleOutcome::AlreadySpent; 2]);
}

#[test]
fn where_nothing_can_be_refunded_there_is_no_permit() {
    let scene = Scene::new();
    assert_eq!(UnsignedPermit::new(ID, []), None);
    let charge = Charge { limits: &scene.limits[..1], ..scene.charges(1)[0] };
    let decisions = &scene.decide(1).decisions[..1];
    let (returns, grant) = (RefundScope::InFlight, Grant { generation: 1, number: None });
    assert_eq!(UnsignedPermit::new(ID, [Refundable { charge: &charge, decisions, returns, grant }]), None);
}

/// Permits are kept by others: those that were issued stay good.
#[test]
fn bytes_stay() {
    let scene = Scene::new();
    let permit = scene.permit([RefundScope::InFlight, RefundScope::Everything]).expect("a permit");
    let mut expected = vec![VERSION];
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    expected.extend(words(&[ID]));
    expected.push(2);
    let Space(space) = Space::named("");
    let [minute, hold] = scene.limits.map(|limit| limit.id().to_words());
    // Generations are the id of the first request, and numbers begin with 0; in-flight slots have
    // none.
    for (key, limits, number) in [("alice", &[hold][..], u64::MAX), ("bob", &[minute, hold], 0)] {
        expected.extend(words(&space));
        expected.push(0);
        expected.extend(words(&[key.len() as u64]));
        expected.extend(key.as_bytes());
        expected.extend(words(&[ID, number]));
        expected.push(limits.len() as u8);
        limits.iter().for_each(|limit| expected.extend([words(limit), words(&[NOW_MS, 3])].concat()));
    }
    assert_eq!(permit.0[..permit.0.len() - MAC_BYTES], expected);
}
