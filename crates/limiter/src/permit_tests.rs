//! Permits for several subjects: what is written in, and how it is settled in parts.

use std::time::Duration;

use slidegate_core::Verdict;

use super::*;
use crate::store::memory::Memory;
use crate::store::{Call, Parts, SettleOutcome};

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
        self.store.decide_now(&Call { now_ms: NOW_MS, holder: ID, charges: &self.charges(cost) })
    }

    /// A permit for a request of three units to both.
    fn permit(&self, of: [Returned; 2]) -> Option<Permit> {
        let (charges, verdict) = (self.charges(3), self.decide(3));
        assert_eq!(self.remaining(), [7; 4]);
        let parts = charges.iter().zip(verdict.decisions.chunks(2)).zip(of);
        let parts = parts.map(|((charge, decisions), of)| Refundable { charge, decisions, of });
        self.signer.issue(ID, parts)
    }

    fn remaining(&self) -> Vec<u64> {
        self.decide(0).decisions.iter().map(|decision| decision.remaining).collect()
    }

    fn settle(&self, permit: &Permit, cost: u64) -> [Option<SettleOutcome>; 2] {
        let Parts { release, rest } = self.signer.open(permit, cost, NOW_MS).expect("ours").in_parts();
        [release, rest].map(|part| part.map(|part| self.store.settle_now(&part)))
    }
}

#[test]
fn a_permit_gives_back_what_is_written_in() {
    use Returned::{All, InFlight};
    let cases = [
        ([All, All], [10; 4]),
        ([InFlight, InFlight], [7, 10, 7, 10]),
        ([All, InFlight], [10, 10, 7, 10]),
        ([InFlight, All], [7, 10, 10, 10]),
    ];
    for (of, left) in cases {
        let scene = Scene::new();
        let permit = scene.permit(of).expect("a permit");
        let settlement = scene.signer.open(&permit, 0, NOW_MS).expect("ours");
        assert_eq!(scene.store.settle_now(&settlement), SettleOutcome::Settled);
        assert_eq!(scene.remaining(), left, "{of:?}");
    }
}

#[test]
fn places_are_released_and_the_rest_is_settled_each_once() {
    use SettleOutcome::{AlreadySpent, Settled};
    let scene = Scene::new();
    let permit = scene.permit([Returned::All; 2]).expect("a permit");
    assert_eq!(scene.settle(&permit, 5), [Some(Settled); 2]);
    assert_eq!(scene.remaining(), [5, 10, 5, 10]);
    assert_eq!(scene.settle(&permit, 0), [Some(AlreadySpent); 2]);
    assert_eq!(scene.remaining(), [5, 10, 5, 10]);
}

#[test]
fn a_part_with_nothing_in_it_is_not_settled() {
    let scene = Scene::new();
    let permit = scene.permit([Returned::InFlight; 2]).expect("a permit");
    assert_eq!(scene.settle(&permit, 5), [Some(SettleOutcome::Settled), None]);
    assert_eq!(scene.remaining(), [7, 10, 7, 10]);
    let (charges, verdict) = (scene.charges(1), scene.decide(1));
    // Without places in flight a permit is settled under its own id.
    let minute = Charge { limits: &scene.limits[..1], ..charges[0] };
    let part = Refundable { charge: &minute, decisions: &verdict.decisions[..1], of: Returned::All };
    let permit = scene.signer.issue(8, [part]).expect("a permit");
    let Parts { release, rest } = scene.signer.open(&permit, 2, NOW_MS).expect("ours").in_parts();
    assert!(release.is_none());
    assert_eq!(rest.map(|rest| (rest.id, rest.cost)), Some((8, 2)));
}

#[test]
fn where_nothing_can_be_given_back_there_is_no_permit() {
    let scene = Scene::new();
    assert_eq!(scene.signer.issue(ID, []), None);
    let charge = Charge { limits: &scene.limits[..1], ..scene.charges(1)[0] };
    let decisions = &scene.decide(1).decisions[..1];
    assert_eq!(
        scene.signer.issue(ID, [Refundable { charge: &charge, decisions, of: Returned::InFlight }]),
        None
    );
}

/// Permits are kept by others: those that were issued stay good.
#[test]
fn bytes_stay() {
    let scene = Scene::new();
    let permit = scene.permit([Returned::InFlight, Returned::All]).expect("a permit");
    let mut expected = vec![VERSION];
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    expected.extend(words(&[ID]));
    expected.push(2);
    let Space(space) = Space::named("");
    let [minute, hold] = scene.limits.map(|limit| limit.id().to_words());
    for (key, limits) in [("alice", &[hold][..]), ("bob", &[minute, hold])] {
        expected.extend(words(&space));
        expected.push(0);
        expected.extend(words(&[key.len() as u64]));
        expected.extend(key.as_bytes());
        expected.push(limits.len() as u8);
        limits.iter().for_each(|limit| expected.extend([words(limit), words(&[NOW_MS, 3])].concat()));
    }
    assert_eq!(permit.0[..permit.0.len() - MAC_BYTES], expected);
}
