//! Every server that is supported answers what the core and the in-memory store answer, field by
//! field.
//!
//! `SLIDEGATE_CASES` sets how many traces each server sees.

use std::cell::RefCell;
use std::collections::HashMap;
use std::thread;

use slidegate::store::redis::RedisConfig;
use slidegate::store::{ChargeRecord, ChargeRequest, ForgetRequest, MAX_LIMITS, Settlement};
use slidegate::{Admission, Grant, IdempotentOutcome, Limit, ReserveRequest, SettleOutcome, Verdict};
use slidegate_core::MAX_TIME_MS;
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::servers::{Flavour, RedisServer};

use crate::cases::{changed, limit};
use crate::differential::{Both, Setting, Step, generate, generate_long};
use crate::drivers::{Driver, MemoryDriver, RedisDriver};

/// Two stores that have to say the same, and the permits of the second by the ids of their
/// requests.
struct Pair(MemoryDriver, RedisDriver, RefCell<HashMap<u64, Vec<Grant>>>);

impl Driver for Pair {
    fn decide(&self, call: &ChargeRequest<'_>) -> Verdict {
        agree(&self.0.decide(call), self.1.decide(call), call)
    }

    /// Open permits that are all over may be there still, or others may have begun: so their
    /// names may differ.
    fn reserve(&self, request: &ReserveRequest<'_>) -> Admission {
        let (memory, redis) = (self.0.reserve(request), self.1.reserve(request));
        let _ = agree(&memory.verdict, redis.verdict, request);
        let charges = 0..request.charge.charges.len();
        agree(
            &charges.clone().map(|charge| memory.grants.of(charge).is_some()).collect::<Vec<_>>(),
            charges.clone().map(|charge| redis.grants.of(charge).is_some()).collect(),
            request,
        );
        let grants = charges.filter_map(|charge| redis.grants.of(charge)).collect();
        self.2.borrow_mut().insert(request.charge.holder, grants);
        memory
    }

    fn once(&self, request: &ReserveRequest<'_>, name: &str) -> IdempotentOutcome {
        let (memory, redis) = (self.0.once(request, name), self.1.once(request, name));
        match (&memory, redis) {
            (IdempotentOutcome::Decided(memory), IdempotentOutcome::Decided(redis)) => {
                let _ = agree(&memory.verdict, redis.verdict.clone(), request);
                let grants = (0..request.charge.charges.len()).filter_map(|charge| redis.grants.of(charge));
                self.2.borrow_mut().insert(request.charge.holder, grants.collect());
            }
            (
                IdempotentOutcome::Replayed { admission: memory, holder },
                IdempotentOutcome::Replayed { admission: redis, holder: other },
            ) => {
                agree(&(&memory.verdict, holder), (&redis.verdict, &other), request);
                let grants = (0..request.charge.charges.len()).filter_map(|charge| redis.grants.of(charge));
                agree(&self.2.borrow()[holder], grants.collect(), request);
            }
            (memory, redis) => {
                agree(memory, redis, request);
            }
        }
        memory
    }

    fn settle(&self, settlement: &Settlement<'_>) -> Vec<SettleOutcome> {
        let grants = self.2.borrow()[&settlement.id].clone();
        let subjects = settlement.subjects.iter().cloned().zip(grants);
        let subjects = subjects.map(|(subject, grant)| ChargeRecord { grant, ..subject }).collect();
        let redis = self.1.settle(&Settlement { subjects, ..*settlement });
        agree(&self.0.settle(settlement), redis, settlement)
    }

    fn give_back(&self, call: &ChargeRequest<'_>) -> Verdict {
        agree(&self.0.give_back(call), self.1.give_back(call), call)
    }

    fn forget(&self, subject: &ForgetRequest<'_>) {
        self.0.forget(subject);
        self.1.forget(subject);
    }
}

fn agree<T: PartialEq + std::fmt::Debug>(memory: &T, redis: T, request: &impl std::fmt::Debug) -> T {
    assert_eq!(*memory, redis, "memory and Redis, asked {request:?}");
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

/// As many limits as a request may have, of all kinds, known to the script as numbers in its text
/// and as arguments.
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
    let server = RedisServer::start(flavour);
    let redis = RedisDriver::new(RedisConfig::parse(&server.url()).expect("a URL"));
    prove_part(part, generate, |setting, steps| {
        let limits: &[Limit] = &setting.limits;
        let mut both =
            Both::new(setting, Pair(MemoryDriver::new(limits), redis.another(), RefCell::default()));
        steps.iter().try_for_each(|step| both.step(step))
    });
}
