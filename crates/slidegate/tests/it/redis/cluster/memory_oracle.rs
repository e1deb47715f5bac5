//! Requests across slots are answered as by the store in memory, field by field.
//!
//! The clock goes forward only: who was charged for a moment has been written to, and a key that
//! was written to does not follow a clock that steps back.

use std::cell::Cell;

use slidegate::store::{Charge, ChargeRequest, ForgetRequest};
use slidegate::{Limit, LimitId, Memory, Redis, Space, Store};
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::ensure;
use slidegate_testkit::servers::{Cluster, Flavour};
use tokio::runtime::Runtime;

use crate::cases::{changed, cost, limit, wait_ms};
use crate::redis::cross_slot::{NOW_MS, Subject, config, subjects};

/// The most subjects of one case.
const SUBJECTS: usize = 5;

#[derive(Clone, Debug)]
enum Step {
    /// A cost for each subject; `None` if it has no part in the request.
    Ask([Option<u64>; SUBJECTS]),
    /// Units for each subject.
    GiveBack([Option<u64>; SUBJECTS]),
    Forget(usize),
    /// A limit of a subject becomes another with the same history.
    Change {
        subject: usize,
        limit: usize,
        to: Limit,
    },
    Forward {
        ms: u64,
    },
}

#[derive(Clone, Copy, Debug)]
enum Verb {
    Decide,
    GiveBack,
}

/// The limits of every subject.
type Setting = Vec<Vec<Limit>>;

fn generate(rng: &Rng) -> (Setting, Vec<Step>) {
    let setting: Setting = (0..rng.between(3, SUBJECTS as u64)).map(|_| limits(rng)).collect();
    let mut now_ms = NOW_MS;
    let step = |_| {
        let of = rng.pick(&setting[rng.below(setting.len() as u64) as usize]);
        if rng.one_in(3) {
            let ms = wait_ms(rng, &of, now_ms);
            now_ms += ms;
            return Step::Forward { ms };
        }
        if rng.one_in(6) {
            let subject = rng.below(setting.len() as u64) as usize;
            let limit = rng.below(setting[subject].len() as u64) as usize;
            let old = &setting[subject][limit];
            return Step::Change { subject, limit, to: rng.pick(&[*old, changed(rng, old)]) };
        }
        if rng.one_in(12) {
            return Step::Forget(rng.below(setting.len() as u64) as usize);
        }
        let mut costs = [None; SUBJECTS];
        for (cost_of, limits) in costs.iter_mut().zip(&setting) {
            // One unit is what fits most often, so that requests come to their last slot.
            let some = if rng.one_in(3) { cost(rng, &rng.pick(limits)) } else { 1 };
            *cost_of = (!rng.one_in(4)).then_some(some);
        }
        if rng.one_in(5) { Step::GiveBack(costs) } else { Step::Ask(costs) }
    };
    let steps = (0..rng.between(1, 40)).map(step).collect();
    (setting, steps)
}

/// One limit or two that can stand side by side.
fn limits(rng: &Rng) -> Vec<Limit> {
    let first = limit(rng);
    let second = Some(limit(rng)).filter(|second| rng.one_in(2) && second.id() != first.id());
    [first].into_iter().chain(second).collect()
}

/// Two stores that are asked the same.
struct Both<'a> {
    runtime: &'a Runtime,
    redis: &'a Redis,
    memory: Memory,
    subjects: &'a [Subject],
    space: Space,
    now_ms: u64,
    holder: u64,
}

impl Both<'_> {
    fn ask(&mut self, limits: &Setting, verb: Verb, costs: &[Option<u64>]) -> Result<(), String> {
        self.holder += 1;
        let subjects = self.subjects.iter().zip(limits).zip(costs);
        let charges: Vec<Charge<'_>> = subjects
            .filter_map(|((subject, limits), cost)| {
                Some(Charge { space: self.space, key: &subject.key, limits, cost: (*cost)? })
            })
            .collect();
        let call = ChargeRequest { now_ms: self.now_ms, holder: self.holder, charges: &charges };
        let (memory, redis) = match verb {
            Verb::Decide => (self.memory.decide_now(&call), self.runtime.block_on(self.redis.decide(&call))),
            Verb::GiveBack => {
                (self.memory.give_back_now(&call), self.runtime.block_on(self.redis.give_back(&call)))
            }
        };
        let redis = redis.map_err(|error| error.to_string())?;
        ensure!(
            memory == redis,
            "{verb:?} {costs:?} at {}\n  memory {memory:?}\n  redis  {redis:?}",
            self.now_ms
        );
        Ok(())
    }

    fn forget(&self, limits: &Setting, subject: usize) -> Result<(), String> {
        let ids: Vec<LimitId> = limits[subject].iter().map(Limit::id).collect();
        let subject = ForgetRequest { space: self.space, key: &self.subjects[subject].key, limits: &ids };
        self.memory.forget_now(&subject);
        self.runtime.block_on(self.redis.forget(&subject)).map_err(|error| error.to_string())
    }

    /// After every request it is looked at what stayed of it.
    fn step(&mut self, limits: &mut Setting, step: &Step) -> Result<(), String> {
        match step {
            Step::Ask(costs) => self.ask(limits, Verb::Decide, costs)?,
            Step::GiveBack(costs) => self.ask(limits, Verb::GiveBack, costs)?,
            Step::Forget(subject) => self.forget(limits, *subject)?,
            Step::Change { subject, limit, to } => limits[*subject][*limit] = *to,
            Step::Forward { ms } => self.now_ms += ms,
        }
        self.ask(limits, Verb::Decide, &[Some(0); SUBJECTS])
    }
}

fn compare(flavour: Flavour) {
    let cluster = Cluster::start(flavour);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let redis = Redis::by_callers_clock(&config(&cluster));
    let subjects = subjects(&cluster, &vec![Vec::new(); SUBJECTS]);
    let cases = Cell::new(0_u64);
    prove_part(25, generate, |limits, steps| {
        cases.set(cases.get() + 1);
        let mut both = Both {
            runtime: &runtime,
            redis: &redis,
            memory: Memory::new(1 << 20),
            subjects: &subjects,
            space: Space::named(&cases.get().to_string()),
            now_ms: NOW_MS,
            holder: 0,
        };
        let mut limits = limits.clone();
        steps.iter().try_for_each(|step| both.step(&mut limits, step))
    });
}

#[test]
fn across_slots_of_redis_7_0_all_is_as_in_memory() {
    compare(Flavour::Redis70);
}

#[test]
fn across_slots_of_valkey_9_all_is_as_in_memory() {
    compare(Flavour::Valkey9);
}
