//! Every server that is supported answers what the core and the in-memory store answer, field by field.
//!
//! `SLIDEGATE_CASES` sets how many traces each server sees.
#![cfg(feature = "redis")]

use std::thread;

use slidegate::store::redis::Config;
use slidegate::store::{Call, Forget, MAX_LIMITS, Settlement};
use slidegate::{Limit, SettleOutcome, Verdict};
use slidegate_core::MAX_TIME_MS;

mod cases;
mod decides;
mod differ;
mod servers;

use cases::{Rng, changed, limit, prove_part};
use decides::{Decides, InMemory, InRedis};
use differ::{Both, Setting, Step, generate, generate_long};
use servers::{Flavour, Server};

/// Two stores that have to say the same.
struct Pair(InMemory, InRedis);

impl Decides for Pair {
    fn decide(&self, call: &Call<'_>) -> Verdict {
        agree(&self.0.decide(call), self.1.decide(call), call)
    }

    fn settle(&self, settlement: &Settlement<'_>) -> SettleOutcome {
        let (memory, redis) = (self.0.settle(settlement), self.1.settle(settlement));
        // What has nothing left that could change may be forgotten in memory, and is then told from what is not.
        match (memory, redis) {
            (SettleOutcome::Expired, SettleOutcome::Settled | SettleOutcome::AlreadySpent) => memory,
            _ => agree(&memory, redis, settlement),
        }
    }

    fn give_back(&self, call: &Call<'_>) -> Verdict {
        agree(&self.0.give_back(call), self.1.give_back(call), call)
    }

    fn forget(&self, subject: &Forget<'_>) {
        self.0.forget(subject);
        self.1.forget(subject);
    }
}

fn agree<T: PartialEq + std::fmt::Debug>(memory: &T, redis: T, asked: &impl std::fmt::Debug) -> T {
    assert_eq!(*memory, redis, "memory and Redis, asked {asked:?}");
    redis
}

#[test]
fn redis_answers_what_the_core_answers() {
    on_every_server(1, |rng| {
        let (setting, steps) = generate(rng);
        // Short of the end of time, beyond which no script is told.
        let start_ms = setting.start_ms.min(MAX_TIME_MS - (1 << 40));
        (Setting { start_ms, ..setting }, steps)
    });
}

/// Logs of more entries than the head of their value has room for.
#[test]
fn long_logs_answer_what_the_core_answers() {
    on_every_server(10, generate_long);
}

/// As many limits as a request may have, of all kinds, known to the script as numbers in its text and as arguments.
#[test]
fn many_limits_answer_what_the_core_answers() {
    on_every_server(100, |rng| {
        let mut limits: Vec<Limit> = Vec::new();
        let wanted = rng.pick(&[rng.between(5, 31) as usize, MAX_LIMITS]);
        while limits.len() < wanted {
            let one = limit(rng);
            if limits.iter().all(|other| other.id() != one.id()) {
                limits.push(one);
            }
        }
        let (setting, mut steps) = generate(rng);
        // Changes of its limits are none of these.
        for step in &mut steps {
            if let Step::Change { limit, to } = step {
                *limit %= wanted;
                *to = changed(rng, &limits[*limit]);
            }
        }
        (Setting { start_ms: setting.start_ms.min(MAX_TIME_MS - (1 << 40)), limits }, steps)
    });
}

fn on_every_server(part: u64, generate: impl Fn(&Rng) -> (Setting, Vec<Step>) + Copy + Sync + Send) {
    thread::scope(|scope| {
        for flavour in Flavour::all() {
            scope.spawn(move || compare(flavour, part, generate));
        }
    });
}

fn compare(flavour: Flavour, part: u64, generate: impl Fn(&Rng) -> (Setting, Vec<Step>)) {
    let server = Server::start(flavour);
    let redis = InRedis::new(Config::parse(&server.url()).expect("a URL"));
    prove_part(part, generate, |setting, steps| {
        let limits: &[Limit] = &setting.limits;
        let mut both = Both::new(setting, Pair(InMemory::new(limits), redis.another()));
        steps.iter().try_for_each(|step| both.step(step))
    });
}
