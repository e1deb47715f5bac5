//! Several requests at once, over memory and over Redis, and their answers as text.

use slidegate::{Answer, BatchItem, Gate, LimitAnswer, ManualClock, Memory, Outcome, Redis, Store};
use slidegate_testkit::servers::{Flavour, RedisServer};

use crate::gates::{START_MS, policy, request};
use crate::redis::stores::patient;

pub(crate) type Timed<S> = Gate<S, ManualClock>;

/// A gate in memory, and one over Redis that repeats no denials.
pub(crate) struct Both {
    pub(crate) memory: Timed<Memory>,
    pub(crate) redis: Timed<Redis>,
    pub(crate) clock: ManualClock,
    _server: RedisServer,
}

pub(crate) fn timed<S: Store>(rules: &str, store: S) -> Timed<S> {
    timed_by(&ManualClock::new(START_MS), rules, store)
}

pub(crate) fn timed_by<S: Store>(clock: &ManualClock, rules: &str, store: S) -> Timed<S> {
    Gate::new(policy(rules), store).clock(clock.clone())
}

pub(crate) fn both(rules: &str) -> Both {
    let server = RedisServer::start(Flavour::Redis70);
    let redis = Redis::by_callers_clock(&patient(&server.url()).deny_cache(std::time::Duration::ZERO));
    let clock = ManualClock::new(START_MS);
    let memory = timed_by(&clock, rules, Memory::default());
    Both { memory, redis: timed_by(&clock, rules, redis), clock, _server: server }
}

/// Runs the same over both stores.
macro_rules! over_both {
    ($rules:expr, $test:expr) => {
        let both = $crate::redis::batches::both($rules);
        $test(&both.memory).await;
        $test(&both.redis).await;
    };
}
pub(crate) use over_both;

/// A request with these attributes: `"path=/login user=alice"`.
pub(crate) fn check(attributes: &str, cost: u64) -> BatchItem<'_> {
    BatchItem::Check(request(attributes).cost(cost))
}

pub(crate) fn back(attributes: &str, units: u64) -> BatchItem<'_> {
    BatchItem::GiveBack { request: request(attributes), units }
}

pub(crate) fn limit<'a>(key: &'a str, limit: &str, cost: u64) -> BatchItem<'a> {
    BatchItem::Limit { key: key.into(), limit: limit.parse().expect("a limit"), cost, id: None }
}

pub(crate) async fn all<S: Store>(gate: &Timed<S>, demands: &[BatchItem<'_>]) -> Answer {
    gate.check_all(demands).await.expect("an answer")
}

/// Whether all passed, and for each whether it fits and what its limits have left: `yes: fits
/// login-2/min 1 | over all-3/s 0`.
pub(crate) async fn render<S: Store>(gate: &Timed<S>, demands: &[BatchItem<'_>]) -> String {
    let answers = all(gate, demands).await;
    let each = answers.items().map(|one| {
        let mut words = vec![if one.is_allowed() { "fits".to_owned() } else { "over".to_owned() }];
        words.extend(one.limits().map(|limit| left(&limit)));
        words.extend(one.observed().map(|limit| format!("(seen {})", left(&limit))));
        words.extend(one.blocked().map(|(rule, why)| format!("{rule} {why:?}")));
        words.join(" ")
    });
    let each: Vec<String> = each.collect();
    format!("{}: {}", if answers.is_allowed() { "yes" } else { "no" }, each.join(" | "))
}

fn left(limit: &LimitAnswer<'_>) -> String {
    let wait = match limit.decision.outcome {
        Outcome::Fits => String::new(),
        Outcome::RetryAfter(ms) => format!(" wait {ms}"),
        Outcome::Never => " never".to_owned(),
    };
    format!("{} {}{wait}", limit.name, limit.decision.remaining)
}
