//! Schedules of threads, explored: `RUSTFLAGS="--cfg shuttle" cargo test -p slidegate-store --test
//! shuttle`.
//!
//! Requests touch overlapping subjects. Whatever the order in which threads get the locks, a
//! request is charged to all of its subjects or to none, no subject admits more than its quota, and
//! what fits is not refused.
#![cfg(shuttle)]

use std::sync::Arc;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner, thread};
use slidegate_core::{Grant, Limit, Receipt};
use slidegate_store::{
    Charge, ChargeRecord, ChargeRequest, Key, Memory, RefundScope, ReserveRequest, SettleOutcome, Settlement,
    Space,
};

const SCHEDULES: usize = 10_000;
const QUOTA: u32 = 3;

fn schedules() -> usize {
    std::env::var("SLIDEGATE_SCHEDULES")
        .map_or(SCHEDULES, |cases| cases.parse().expect("a number of schedules"))
}

fn explore(scheduler: impl Scheduler + 'static, run: impl Fn() + Send + Sync + 'static) {
    Runner::new(scheduler, Config::default()).run(run);
}

/// Explores schedules at random, and those that few changes of priority lead to.
fn explore_all(run: impl Fn() + Send + Sync + Clone + 'static) {
    explore(RandomScheduler::new(schedules()), run.clone());
    explore(PctScheduler::new(3, schedules()), run);
}

struct Subjects {
    store: Memory,
    keys: [Key<'static>; 3],
    limits: [Limit; 1],
}

impl Subjects {
    fn new() -> Arc<Self> {
        // The smallest store has the fewest locks, and so the most waiting for them.
        let keys = ["one", "two", "three"].map(Key::from);
        Arc::new(Self { store: Memory::new(0), keys, limits: [Limit::per_minute(QUOTA)] })
    }

    /// Whether a unit of each of these subjects was admitted.
    fn take(&self, subjects: &[usize]) -> bool {
        let charge = |n: &usize| Charge {
            space: Space::named(""),
            key: &self.keys[*n],
            limits: &self.limits,
            cost: 1,
        };
        let charges: Vec<Charge<'_>> = subjects.iter().map(charge).collect();
        self.store.decide_now(&ChargeRequest { now_ms: 0, holder: 0, charges: &charges }).is_allowed()
    }

    /// A unit of each of the first two subjects, with permits.
    fn reserve(&self) -> [Grant; 2] {
        let space = Space::named("");
        let charges = [0, 1].map(|n| Charge { space, key: &self.keys[n], limits: &self.limits, cost: 1 });
        let call = ChargeRequest { now_ms: 0, holder: 1, charges: &charges };
        let granted = self
            .store
            .reserve_now(&ReserveRequest { charge: call, refunds: &[RefundScope::Everything; 2] })
            .grants;
        [0, 1].map(|charge| granted.of(charge).expect("a permit"))
    }

    fn give_back(&self, grants: [Grant; 2], subjects: &[usize]) -> SettleOutcome {
        let receipt = Receipt { stamp_ms: 0, cost: 1, holder: 1 };
        let charged = |n: &usize| ChargeRecord {
            space: Space::named(""),
            key: self.keys[*n].clone(),
            grant: grants[*n],
            receipts: vec![(self.limits[0].id(), receipt)],
        };
        let subjects = subjects.iter().map(charged).collect();
        let settlement = Settlement { now_ms: 0, id: 1, cost: 0, slots: 0, subjects };
        SettleOutcome::of_all(&self.store.settle_now(&settlement))
    }

    fn used(&self) -> [u64; 3] {
        [0, 1, 2].map(|n: usize| {
            let key = &self.keys[n];
            let charges = [Charge { space: Space::named(""), key, limits: &self.limits, cost: 0 }];
            let peek = self.store.decide_now(&ChargeRequest { now_ms: 0, holder: 0, charges: &charges });
            u64::from(QUOTA) - peek.remaining().expect("there is a limit")
        })
    }
}

/// Two requests per thread: their subjects, and whether they were admitted.
fn run_threads(subjects: &Arc<Subjects>, requests: &[&'static [usize]]) -> Vec<(Vec<usize>, bool)> {
    let threads = requests.iter().map(|&request| {
        let subjects = subjects.clone();
        thread::spawn(move || [(); 2].map(|()| (request.to_vec(), subjects.take(request))))
    });
    let threads: Vec<_> = threads.collect();
    threads.into_iter().flat_map(|thread| thread.join().expect("a thread that ends")).collect()
}

#[test]
fn overlapping_requests_are_charged_all_or_none() {
    explore_all(|| {
        let subjects = Subjects::new();
        let answers = run_threads(&subjects, &[&[0, 1], &[1, 2], &[2, 0]]);
        let used = subjects.used();
        for (n, used) in used.into_iter().enumerate() {
            let admitted = answers.iter().filter(|(request, allowed)| *allowed && request.contains(&n));
            assert_eq!(used, admitted.count() as u64);
        }
        // The quota is never given back, so what was refused met a full subject, which is full
        // still.
        let refused = answers.iter().filter(|(_, allowed)| !allowed);
        for (request, _) in refused {
            assert!(
                request.iter().any(|n| used[*n] == u64::from(QUOTA)),
                "refused what fits: {request:?} of {used:?}"
            );
        }
    });
}

#[test]
fn opposite_orders_never_block_each_other() {
    explore_all(|| {
        let subjects = Subjects::new();
        let answers = run_threads(&subjects, &[&[0, 1], &[1, 0]]);
        assert_eq!(answers.iter().filter(|(_, allowed)| *allowed).count(), QUOTA as usize);
        assert_eq!(subjects.used(), [3, 3, 0]);
    });
}

#[test]
fn a_permit_is_spent_once() {
    explore_all(|| {
        let subjects = Subjects::new();
        assert!(subjects.take(&[0, 1]));
        let grants = subjects.reserve();
        let refund = |order: &'static [usize]| {
            let subjects = subjects.clone();
            thread::spawn(move || subjects.give_back(grants, order))
        };
        let refunds =
            [refund(&[0, 1]), refund(&[1, 0])].map(|thread| thread.join().expect("a thread that ends"));
        assert!(refunds.contains(&SettleOutcome::Settled) && refunds.contains(&SettleOutcome::AlreadySpent));
        assert_eq!(subjects.used(), [1, 1, 0]);
    });
}
