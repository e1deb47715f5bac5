//! Decisions in place against those with subjects taken out of their shards.

use std::time::Duration;

use slidegate_core::{Limit, Verdict};

use super::super::Memory;
use super::super::audit::Random;
use crate::key::{Key, Space};
use crate::{Charge, ChargeRequest};

/// Limits of the rules of one request: every kind, alone and together, with small and with ample
/// quotas, in windows of so many times the shortest.
fn rules(scale: u64) -> [Vec<Limit>; 8] {
    let log = |quota, s| Limit::new(quota, Duration::from_secs(s * scale)).expect("a log");
    let counter = |quota, s| log(quota, s).counter().expect("a counter");
    [
        vec![counter(9, 1)],
        vec![counter(200_000, 7), counter(90, 1)],
        vec![log(6, 1)],
        vec![log(5, 1), log(40, 60)],
        vec![log(4, 1).fixed().expect("a fixed window")],
        vec![log(60, 60).gcra(5).expect("a meter"), counter(70_000, 60), log(9, 1)],
        vec![Limit::in_flight(20, Duration::from_secs(5 * scale)).expect("in flight")],
        vec![counter(20, 3), counter(1_000, 60).named("long")],
    ]
}

/// A request on some of the rules, of one client in a few.
struct RandomRequest {
    now_ms: u64,
    charges: Vec<(usize, Key<'static>, u64)>,
}

impl RandomRequest {
    fn new(now_ms: u64, random: &mut Random) -> Self {
        let count = 2 + random.below(4) as usize;
        let first = random.below(8) as usize;
        let cost = [0, 1, 1, 1, 1, 1, 2, 3, 30_000][random.below(9) as usize];
        let charges =
            (first..first + count).map(|rule| (rule % 8, Key::from(random.below(12)), cost)).collect();
        Self { now_ms, charges }
    }

    fn decide(
        &self,
        holder: u64,
        rules: &[Vec<Limit>],
        decide: impl FnOnce(&ChargeRequest<'_>) -> Verdict,
    ) -> Verdict {
        let spaces = ["a", "b", "c", "d", "e", "f", "g", "h"].map(Space::named);
        let charge =
            |(rule, key, cost): &'_ (usize, Key<'static>, u64)| (spaces[*rule], key.clone(), *rule, *cost);
        let parts: Vec<_> = self.charges.iter().map(charge).collect();
        let charges: Vec<Charge<'_>> = parts
            .iter()
            .map(|(space, key, rule, cost)| Charge { space: *space, key, limits: &rules[*rule], cost: *cost })
            .collect();
        decide(&ChargeRequest { now_ms: self.now_ms, holder, charges: &charges })
    }
}

/// The same requests in place, and taken out: every number is the same, and most requests are
/// decided in place. In odd runs the clock is set back. No subject is new or idle there, or shares
/// a shard: what has been dropped does not return with the time, and the sweep of a shard repairs
/// all of its subjects.
#[test]
fn decisions_in_place_are_those_of_the_general_path() {
    let (mut in_place, mut total) = (0, 0);
    for seed in 1..=20 {
        let is_set_back = seed % 2 == 1;
        let rules = rules(if is_set_back { 100 } else { 1 });
        // So many shards that hardly two subjects share one.
        let [fast, general] = [(); 2].map(|()| Memory::with_seed(4 << 30, [seed as u8; 32]));
        let mut random = Random(seed);
        let mut now_ms = 1_745_000_000_000;
        if is_set_back {
            for (rule, key) in (0..8).flat_map(|rule| (0..12_u64).map(move |key| (rule, key))) {
                let request = RandomRequest { now_ms, charges: vec![(rule, Key::from(key), 1)] };
                let [one, other] = [&fast, &general]
                    .map(|memory| request.decide(0, &rules, |call| memory.decide_loaded(call)));
                assert_eq!(one, other);
            }
        }
        for step in 0..3_000 {
            now_ms += random.below(20);
            match random.below(400) {
                0 if is_set_back => now_ms -= 30 * 86_400_000,
                1 | 2 if is_set_back => now_ms -= random.below(20_000),
                0 => now_ms += random.below(90_000),
                _ => {}
            }
            let request = RandomRequest::new(now_ms, &mut random);
            let decided = request.decide(step, &rules, |call| {
                total += 1;
                let verdict = fast.decide_in_place(call);
                in_place += u64::from(verdict.is_some());
                verdict.unwrap_or_else(|| fast.decide_loaded(call))
            });
            let expected = request.decide(step, &rules, |call| general.decide_loaded(call));
            assert_eq!(decided, expected, "seed {seed}, step {step}, {:?}", request.charges);
        }
        assert!(fast.stats().keys >= general.stats().keys, "only idle subjects leave");
    }
    assert!(in_place * 10 > total * 8, "{in_place} of {total} in place");
}

/// One subject twice, a time beyond all, and more charges than the path takes.
#[test]
fn what_is_uncommon_is_left_to_the_general_path() {
    let (memory, limits) = (Memory::default(), [Limit::per_minute(5)]);
    let keys: Vec<Key<'_>> = (0..9_u64).map(Key::from).collect();
    let charge = |key| Charge { space: Space::named("a"), key, limits: &limits, cost: 1 };
    let decide = |now_ms, charges: &[Charge<'_>]| {
        memory.decide_in_place(&ChargeRequest { now_ms, holder: 0, charges })
    };
    assert!(decide(1_000, &[charge(&keys[0]), charge(&keys[0])]).is_none());
    assert!(decide(u64::MAX, &[charge(&keys[0]), charge(&keys[1])]).is_none());
    assert!(decide(1_000, &keys.iter().map(charge).collect::<Vec<_>>()).is_none());
    assert_eq!(memory.stats().keys, 0, "nothing was decided");
    assert!(decide(1_000, &keys[..2].iter().map(charge).collect::<Vec<_>>()).is_some());
    assert_eq!(memory.stats().keys, 2);
}
