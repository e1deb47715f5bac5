//! What happens to a few keys under a few limits, generated with an eye on edges.

use std::time::Duration;

use slidegate::{Limit, RefundScope, Resolution};
use slidegate_core::MAX_TIME_MS;
use slidegate_testkit::cases::Rng;

use super::{KEYS, NAMES, Setting, Step, Way};
use crate::cases::{changed, cost, limit, wait_ms, with_quota};

/// Mostly through the limiter, which decides in place where it can.
const WAYS: [Way; 7] =
    [Way::Limiter, Way::Limiter, Way::Limiter, Way::Together, Way::Apart, Way::Pair, Way::Twice];

pub(crate) fn generate(rng: &Rng) -> (Setting, Vec<Step>) {
    let mut limits: Vec<Limit> = Vec::new();
    for _ in 0..rng.between(1, 4) {
        let one = limit(rng);
        if limits.iter().all(|other| other.id() != one.id()) {
            limits.push(one);
        }
    }
    let late = MAX_TIME_MS - rng.below(100);
    let start_ms = rng.pick(&[rng.below(100), 1_745_000_000_000 + rng.below(60_000), late]);
    let mut now_ms = start_ms;
    let steps = (0..rng.between(1, 60)).map(|_| step(rng, &limits, &mut now_ms)).collect();
    (Setting { start_ms, limits }, steps)
}

/// One key whose log grows to dozens of entries, and shrinks, and grows again.
pub(crate) fn generate_long(rng: &Rng) -> (Setting, Vec<Step>) {
    let quota = rng.between(10, 90);
    let window = Duration::from_millis(quota * rng.between(1, 8));
    let log = Limit::new(quota, window).expect("a log");
    let resolution = Resolution::Ms(rng.pick(&[1, 1, 2, rng.between(1, 8)]));
    let log = log.resolution(resolution).unwrap_or(log);
    let other = Limit::new(2 * quota, 2 * window).expect("a log");
    let limits = if rng.one_in(3) { vec![log, other] } else { vec![log] };
    // Pauses in which a part of the log leaves, so that blocks are fetched back from the ring.
    let step = |_| match rng.below(40) {
        0 => Step::Forward { ms: rng.below(window.as_millis() as u64 + 2) },
        1 => Step::Settle { of: rng.below(64) as usize, cost: rng.pick(&[0, 0, 1, 3, 70_000]), slots: 0 },
        21..=24 => Step::Reserve { key: 0, cost: 1, way: Way::Together, scope: RefundScope::Everything },
        7 if rng.one_in(2) => {
            Step::GiveBack { key: 0, units: rng.pick(&[1, 3, rng.between(1, quota)]), way: Way::Together }
        }
        2 if rng.one_in(3) => Step::Back { ms: rng.magnitude(3 * window.as_millis() as u64) },
        3 if rng.one_in(4) => Step::Change { limit: 0, to: with_quota(&log, rng.between(1, 120)) },
        3 if rng.one_in(4) => Step::Change { limit: 0, to: rng.pick(&[log, limit(rng)]) },
        3 if rng.one_in(2) => {
            let resolution = Resolution::Ms(rng.between(1, window.as_millis() as u64));
            Step::Change { limit: 0, to: log.resolution(resolution).unwrap_or(log) }
        }
        4 => Step::Check { key: 0, cost: rng.between(2, quota + 1), way: Way::Together },
        5 => Step::Check { key: 0, cost: 0, way: Way::Together },
        6 if rng.one_in(4) => Step::Forget { key: 0 },
        6..=20 => Step::Forward { ms: rng.between(1, 6) },
        _ => Step::Check { key: 0, cost: 1, way: Way::Together },
    };
    let steps = (0..rng.between(60, 400)).map(step).collect();
    (Setting { start_ms: 1_745_000_000_000, limits }, steps)
}

fn step(rng: &Rng, limits: &[Limit], now_ms: &mut u64) -> Step {
    let index = rng.below(limits.len() as u64) as usize;
    let of = &limits[index];
    match rng.below(24) {
        0..=7 => {
            let ms = wait_ms(rng, of, *now_ms);
            *now_ms += ms;
            Step::Forward { ms }
        }
        8 => Step::Back { ms: rng.pick(&[1, rng.magnitude(4 * of.window_ms()), of.window_ms(), 1 << 35]) },
        9..=10 => {
            let cost = rng.pick(&[0, 0, 1, cost(rng, of)]);
            Step::Settle { of: rng.below(64) as usize, cost, slots: rng.pick(&[0, cost]) }
        }
        13..=14 => {
            let units = rng.pick(&[cost(rng, of), 1, 2 * of.ceiling(), u64::MAX]);
            let way = rng.pick(&[Way::Together, Way::Apart, Way::Pair, Way::Twice]);
            Step::GiveBack { key: rng.below(KEYS as u64) as usize, units, way }
        }
        12 if rng.one_in(3) => Step::Forget { key: rng.below(KEYS as u64) as usize },
        11 => {
            let to = rng.pick(&[*of, changed(rng, of), changed(rng, of), limit(rng), limit(rng)]);
            Step::Change { limit: index, to }
        }
        19 => {
            let name = rng.below(NAMES as u64) as usize;
            Step::Once { key: rng.below(2) as usize, cost: rng.pick(&[1, 1, cost(rng, of).max(1)]), name }
        }
        15..=18 => {
            let way = rng.pick(&[Way::Together, Way::Apart, Way::Pair, Way::Twice]);
            let scope = rng.pick(&[RefundScope::Everything, RefundScope::Everything, RefundScope::InFlight]);
            Step::Reserve { key: rng.below(KEYS as u64) as usize, cost: cost(rng, of), way, scope }
        }
        _ => {
            let way = rng.pick(&WAYS);
            Step::Check { key: rng.below(KEYS as u64) as usize, cost: cost(rng, of), way }
        }
    }
}
