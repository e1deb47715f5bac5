//! The in-memory store answers what the core answers.

use std::time::Duration;

use slidegate::{Limit, Resolution};
use slidegate_testkit::cases::{prove, prove_part};

use crate::cases::with_quota;
use crate::differential::{Both, Setting, Step, Way, generate, generate_long};
use crate::drivers::MemoryDriver;

#[test]
fn memory_answers_what_the_core_answers() {
    prove(generate, |setting, steps| {
        let mut both = Both::new(setting, MemoryDriver::new(&setting.limits));
        steps.iter().try_for_each(|step| both.step(step))
    });
}

#[test]
fn long_logs_answer_what_the_core_answers() {
    prove_part(10, generate_long, |setting, steps| {
        let mut both = Both::new(setting, MemoryDriver::new(&setting.limits));
        steps.iter().try_for_each(|step| both.step(step))
    });
}

/// Where the clock was wrong, both windows of a counter become one: more than one of them could
/// hold.
#[test]
fn a_repaired_counter_may_outgrow_its_slot() {
    let quota = u64::from(u32::MAX);
    let limits = vec![with_quota(&Limit::per_second(1).counter().expect("a counter"), quota)];
    let mut both =
        Both::new(&Setting { start_ms: 1_999, limits: limits.clone() }, MemoryDriver::new(&limits));
    let most = quota - quota.div_ceil(1_000);
    let steps = [
        Step::Check { key: 0, cost: quota, way: Way::Limiter },
        Step::Forward { ms: 1_000 },
        Step::Check { key: 0, cost: most, way: Way::Limiter },
        Step::Back { ms: 1_001 },
        Step::Check { key: 0, cost: 1, way: Way::Limiter },
        Step::Check { key: 0, cost: 1, way: Way::Limiter },
    ];
    // Not by `step`, which would have the store look at the key first, in another way.
    for step in steps {
        match step {
            Step::Back { ms } => both.set_clock(both.now_ms - ms),
            step => both.step(&step).expect("the same answer"),
        }
    }
}

/// As many fine entries as a coarser limit can have at most: the next one is still one more.
#[test]
fn entries_of_a_finer_resolution_are_accounted_for() {
    let fine = Limit::new(85, Duration::from_millis(255)).expect("a log").resolution(Resolution::Ms(2));
    let coarse = Limit::new(85, Duration::from_millis(255)).expect("a log").resolution(Resolution::Ms(235));
    let limits = vec![fine.expect("a resolution")];
    let mut both = Both::new(
        &Setting { start_ms: 1_745_000_000_002, limits: limits.clone() },
        MemoryDriver::new(&limits),
    );
    let check = Step::Check { key: 0, cost: 1, way: Way::Together };
    let steps = [
        check,
        Step::Forward { ms: 10 },
        check,
        Step::Forward { ms: 2 },
        check,
        Step::Change { limit: 0, to: coarse.expect("a resolution") },
        check,
        Step::Forward { ms: 11 },
        check,
        Step::Forget { key: 0 },
    ];
    steps.iter().try_for_each(|step| both.step(step)).expect("the same answers");
}
