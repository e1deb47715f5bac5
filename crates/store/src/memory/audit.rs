//! Tests that budgets match the contents of the tables after any operation.

use std::time::Duration;

use slidegate_core::{Limit, Receipt};

use super::Memory;
use super::budget::Footprint;
use super::bytes::allocated;
use super::row::RowContent;
use super::shard::Shard;
use super::slot::SlotContent;
use crate::key::{Key, Space};
use crate::{
    Admission, Charge, ChargeRecord, ChargeRequest, ForgetRequest, RefundScope, ReserveRequest, Settlement,
};

/// Sum of the footprints in the tables of a shard.
fn footprints(shard: &Shard) -> [usize; 3] {
    let slots = shard.slots.iter().map(|slot| match &slot.content {
        SlotContent::Packed { .. } => Footprint::SLOT,
        SlotContent::Heap(subject) => {
            assert_eq!(subject.budgeted, Footprint::SLOT.with_heap(subject.heap_bytes()), "{subject:?}");
            subject.budgeted
        }
    });
    let rows = shard.rows.iter().map(|row| match &row.content {
        RowContent::Pair { .. } | RowContent::Cells { .. } => Footprint::ROW,
        RowContent::Log { ring, .. } => Footprint::ROW.with_heap(allocated(ring.heap_bytes())),
    });
    slots.chain(rows).fold([0; 3], |[slots, rows, bytes], one| {
        [slots + one.slots as usize, rows + one.rows as usize, bytes + one.heap_bytes as usize]
    })
}

fn audit(store: &Memory) {
    for shard in &store.shards {
        let shard = shard.lock();
        assert_eq!(shard.budget.totals(), footprints(&shard));
        assert_eq!(shard.budget.bytes(), shard.budget.totals()[2] + shard.slots.bytes() + shard.rows.bytes());
    }
}

/// Pseudorandom numbers, by xorshift.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

fn limits() -> Vec<Limit> {
    let counter = |quota, seconds| {
        Limit::new(quota, Duration::from_secs(seconds)).and_then(Limit::counter).expect("a counter")
    };
    let hold = Duration::from_secs(5);
    vec![
        counter(9, 1),
        counter(200_000, 60),
        Limit::per_second(6),
        Limit::per_minute(300),
        Limit::new(1 << 40, Duration::from_secs(7)).expect("a log"),
        Limit::new(300_000, Duration::from_secs(2)).expect("a log"),
        Limit::per_second(4).fixed().expect("a fixed window"),
        Limit::per_minute(60).gcra(5).expect("a meter"),
        Limit::in_flight(3, hold).expect("in flight"),
    ]
}

/// Every layout and every change of layout, under small and large bounds.
#[test]
fn budgets_match_the_tables() {
    let all = limits();
    for (seed, bound) in [(1, 64 << 10), (2, 128 << 10), (3, 8 << 20)] {
        let (store, mut random) = (Memory::new(bound), Random(seed));
        let (mut now_ms, mut admitted) = (1_745_000_000_000, Vec::new());
        for step in 0..60_000_u64 {
            now_ms += random.below(12);
            if random.below(300) == 0 {
                now_ms -= random.below(20_000);
            }
            let (from, count) = (random.below(8) as usize, 1 + random.below(4) as usize);
            let chosen = &all[from..all.len().min(from + count)];
            let keys = [Key::from(random.below(600)), Key::from(random.below(600))];
            let cost = [0, 1, 1, 1, 2, 30_000, 70_000][random.below(7) as usize];
            let space = Space::named(["one", "two"][random.below(2) as usize]);
            let charge = |key| Charge { space, key, limits: chosen, cost };
            let charges = [charge(&keys[0]), charge(&keys[1])];
            let charges = if random.below(5) == 0 { &charges[..] } else { &charges[..1] };
            let call = ChargeRequest { now_ms, holder: step, charges };
            let request = ReserveRequest { charge: call, refunds: &[RefundScope::Everything] };
            let is_reserved = random.below(4) == 0;
            let Admission { verdict, grants: granted } =
                if is_reserved { store.reserve_now(&request) } else { store.decide_now(&call).into() };
            if let Some(grant) = granted.of(0) {
                let receipt = |stamp_ms| Receipt { stamp_ms, cost, holder: step };
                let stamps = verdict.decisions.iter().map(|decision| receipt(decision.stamp_ms));
                let receipts = chosen.iter().map(Limit::id).zip(stamps).collect();
                admitted.push((step, ChargeRecord { space, key: keys[0].clone(), grant, receipts }));
            }
            if random.below(6) == 0
                && let Some((id, charged)) = admitted.pop()
            {
                let cost = [0, 1, 80_000][random.below(3) as usize];
                store.settle_now(&Settlement { now_ms, id, cost, slots: cost, subjects: vec![charged] });
            }
            if random.below(6) == 0 {
                let _ = store.give_back_now(&ChargeRequest { now_ms, holder: step, charges });
            }
            if random.below(20) == 0 {
                let key = &Key::from(random.below(600));
                store.forget_now(&ForgetRequest { space, key, limits: &[] });
            }
            if step % 500 == 0 {
                audit(&store);
            }
        }
        audit(&store);
    }
}
