//! Requests that come once or often, others under their keys, and a clock that goes on and back:
//! the same answers in memory and in Redis, field by field.

use std::cell::Cell;
use std::fmt::Debug;
use std::time::Duration;

use slidegate::store::{Charge, ChargeRequest};
use slidegate::{IdempotentOutcome, Key, Limit, Memory, Redis, ReserveRequest, Space, Store};
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::servers::{Flavour, RedisServer};

use crate::cases;
use crate::redis::stores::patient;

const SUBJECTS: usize = 2;
const NAMES: usize = 2;

#[derive(Clone, Debug)]
enum Step {
    /// Asks for what has this number, under one of a few keys.
    Ask {
        number: usize,
        name: usize,
        quotas: Quotas,
    },
    Forward {
        ms: u64,
    },
    Back {
        ms: u64,
    },
}

/// Other quotas make no other request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quotas {
    AsTheyAre,
    Doubled,
}

/// A part of a request.
#[derive(Clone, Debug)]
struct Part {
    subject: usize,
    limits: Vec<Limit>,
    cost: u64,
}

/// All that is ever asked for.
type Requests = Vec<Vec<Part>>;

/// Limits of which no two count in the same history.
fn different(limits: impl Iterator<Item = Limit>) -> Vec<Limit> {
    let mut different: Vec<Limit> = Vec::new();
    for limit in limits {
        if different.iter().all(|other| other.id() != limit.id()) {
            different.push(limit);
        }
    }
    different
}

fn part(rng: &Rng, all: &[Limit]) -> Part {
    let limits = different((0..rng.pick(&[0, 1, 1, 1, 2, 3])).map(|_| rng.pick(all)));
    let cost = limits.first().map_or(1, |limit| cases::cost(rng, limit));
    Part { subject: rng.below(SUBJECTS as u64) as usize, limits, cost }
}

fn generate(rng: &Rng) -> (Requests, Vec<Step>) {
    let all = different((0..rng.between(1, 4)).map(|_| cases::limit(rng)));
    let request = |_| (0..rng.pick(&[0, 1, 1, 1, 2])).map(|_| part(rng, &all)).collect();
    let requests: Requests = (0..rng.between(1, 3)).map(request).collect();
    let windows = requests.iter().flatten().flat_map(|part| &part.limits).map(Limit::window_ms);
    let window_ms = windows.min().unwrap_or(1_000).min(60_000);
    let step = |_| match rng.below(20) {
        0..=1 => Step::Forward { ms: rng.pick(&[1, window_ms - 1, window_ms, window_ms + 1]) },
        2 => Step::Forward { ms: rng.magnitude(3 * 60_000) },
        3 if rng.one_in(2) => {
            Step::Back { ms: rng.pick(&[1, window_ms, rng.magnitude(4 * 60_000), 1 << 35]) }
        }
        _ => Step::Ask {
            number: rng.below(requests.len() as u64) as usize,
            name: rng.below(NAMES as u64) as usize,
            quotas: if rng.one_in(8) { Quotas::Doubled } else { Quotas::AsTheyAre },
        },
    };
    let steps = (0..rng.between(5, 60)).map(step).collect();
    (requests, steps)
}

/// Both stores, in a space and under keys that no other case has.
struct Both<'a> {
    redis: &'a Redis,
    memory: Memory,
    requests: &'a Requests,
    case: usize,
    now_ms: u64,
    holder: u64,
    /// How often each subject was left for another.
    left: [u64; SUBJECTS],
    /// How often each idempotency key was left for another, and when its answer ends.
    names: [(u64, u64); NAMES],
}

impl Both<'_> {
    async fn step(&mut self, step: &Step) -> Result<(), String> {
        self.holder += 1;
        match *step {
            Step::Ask { number, name, quotas } => {
                let requests = self.requests;
                self.ask(&requests[number], name, quotas).await?;
            }
            Step::Forward { ms } => {
                self.leave_names();
                self.now_ms += ms;
            }
            Step::Back { ms } => {
                let dead = self.look_at_all().await?;
                dead.into_iter().for_each(|subject| self.left[subject] += 1);
                self.leave_names();
                self.now_ms -= ms;
                self.look_at_all().await?;
            }
        }
        Ok(())
    }

    /// An answer that has no effect now is kept, or forgotten already, and at another time it could
    /// have one again.
    fn leave_names(&mut self) {
        for (left, end_ms) in &mut self.names {
            if *end_ms <= self.now_ms || *end_ms > self.now_ms + 120_000 {
                *left += 1;
            }
        }
    }

    async fn ask(&mut self, parts: &[Part], name: usize, quotas: Quotas) -> Result<(), String> {
        let (keys, parts) = (self.keys(parts), with_quotas(parts, quotas));
        let charges = self.charges(&keys, &parts);
        let call = ChargeRequest { now_ms: self.now_ms, holder: self.holder, charges: &charges };
        let (left, _) = self.names[name];
        let idempotency_key = format!("{} {name} {left}", self.case);
        let request = ReserveRequest::without_refunds(call);
        let Ok(expected) = self.memory.decide_idempotent(&request, idempotency_key.as_bytes()).await;
        let got = self.redis.decide_idempotent(&request, idempotency_key.as_bytes()).await;
        self.compare(&expected, &got.map_err(|error| error.to_string())?)?;
        if matches!(expected, IdempotentOutcome::Decided(admission) if admission.is_admitted()) {
            let shortest_ms = parts.iter().flat_map(|part| &part.limits).map(Limit::window_ms).min();
            self.names[name].1 = self.now_ms + shortest_ms.unwrap_or(0).min(60_000);
        }
        Ok(())
    }

    /// The subjects with a limit that has nothing in its window: its state is kept, or dropped
    /// already, and a clock that steps back would show which.
    async fn look_at_all(&self) -> Result<Vec<usize>, String> {
        let mut dead = Vec::new();
        for part in self.requests.iter().flatten() {
            let parts = [Part { cost: 0, ..part.clone() }];
            let keys = self.keys(&parts);
            let call =
                ChargeRequest { now_ms: self.now_ms, holder: 0, charges: &self.charges(&keys, &parts) };
            let Ok(expected) = self.memory.decide(&call).await;
            self.compare(&expected, &self.redis.decide(&call).await.map_err(|error| error.to_string())?)?;
            if expected.decisions.iter().any(|decision| decision.reset_after_ms == 0) {
                dead.push(part.subject);
            }
        }
        Ok(dead)
    }

    fn keys(&self, parts: &[Part]) -> Vec<Key<'static>> {
        parts.iter().map(|part| Key::from((part.subject, self.left[part.subject]))).collect()
    }

    fn charges<'k>(&self, keys: &'k [Key<'k>], parts: &'k [Part]) -> Vec<Charge<'k>> {
        let space = Space::named(&self.case.to_string());
        let pairs = keys.iter().zip(parts);
        pairs.map(|(key, Part { limits, cost, .. })| Charge { space, key, limits, cost: *cost }).collect()
    }

    fn compare<T: PartialEq + Debug>(&self, expected: &T, got: &T) -> Result<(), String> {
        let differ = || format!("at {}\n  in memory {expected:?}\n  in Redis  {got:?}", self.now_ms);
        (got == expected).then_some(()).ok_or_else(differ)
    }
}

fn with_quotas(parts: &[Part], quotas: Quotas) -> Vec<Part> {
    let changed = |limit: &Limit| match quotas {
        Quotas::AsTheyAre => *limit,
        Quotas::Doubled => cases::with_quota(limit, 2 * limit.quota()),
    };
    parts.iter().map(|part| Part { limits: part.limits.iter().map(changed).collect(), ..*part }).collect()
}

#[test]
fn all_is_as_in_memory() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let redis = Redis::by_callers_clock(&patient(&server.url()).deny_cache(Duration::ZERO));
        let cases = Cell::new(0);
        prove_part(20, generate, |requests, steps| {
            cases.set(cases.get() + 1);
            let (memory, case, now_ms) = (Memory::new(1 << 20), cases.get(), 1_745_000_000_000);
            let mut both = Both {
                redis: &redis,
                memory,
                requests,
                case,
                now_ms,
                holder: 0,
                left: [0; SUBJECTS],
                names: [(0, 0); NAMES],
            };
            runtime.block_on(async {
                for step in steps {
                    both.step(step).await.map_err(|why| format!("{step:?} {why}"))?;
                }
                Ok(())
            })
        });
    }
}
