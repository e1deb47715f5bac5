//! What is counted is what a recount of all answers gives: in memory, in Redis, and while policies
//! come and go.

use std::sync::Arc;
use std::time::Duration;

use slidegate::policy::file::Percent;
use slidegate::policy::{Blocked, Choice, Hit, Policy, TemporaryOverride};
use slidegate::telemetry::{Telemetry, TelemetrySettings};
use slidegate::{
    Answer, BatchItem, CheckRequest, Clock, Limit, ManualClock, Memory, Redis, Request, Store, Verdict,
};
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::servers::{Flavour, RedisServer};
use tokio::runtime::Runtime;

use crate::gates::{START_MS, policy, request};
use crate::redis::batches::{Timed, timed_by};
use crate::redis::recount::{Recount, Way};
use crate::redis::stores::patient;

const FIRST: &str = "
  - { name: wide, key: [user], limits: [4/s, { quota: 6, window: 3s, algorithm: counter }], tiers: { gold: [20/s] } }
  - { name: two, match: { path: [/a, '/b/{id}'] }, key: ['id|user'], limits: [3/s] }
  - { name: below, match: { path: { prefix: /c } }, key: [org, user], missing: deny, deny: [{ org: evil }],
      limits: [{ quota: 7, window: 1s, algorithm: gcra, burst: 5 }] }
  - { name: watched, match: { path: [/a, /c/d] }, key: [user], mode: observe, limits: [2/s, 1/700ms] }
  - { name: partly, mode: { enforce_for: [{ tier: gold }] }, key: ['user|org'], missing: skip, limits: [3/2s] }
  - { name: returned, match: { path: /a }, key: [user], refundable: true, limits: [9/5s] }
  - { name: barring, match: { path: [/d, /a] }, key: [org], missing: deny, deny: [{ user: bob }],
      mode: { enforce_for: [{ tier: gold }] }, limits: [6/s] }
";
/// One rule is gone, one is new, one has another quota, one is enforced.
const SECOND: &str = "
  - { name: watched, match: { path: [/a, /c/d] }, key: [user], limits: [2/s, 1/700ms] }
  - { name: fresh, key: [user], limits: [8/s] }
  - { name: wide, key: [user], limits: [5/s, { quota: 6, window: 3s, algorithm: counter }] }
  - { name: two, match: { path: ['/b/{id}', /a] }, key: ['id|user'], limits: [3/s] }
";
const EXCEPTION: &str = r#"{"rule": "wide", "when": {"tier": "gold"}, "limits": ["1/s"]}"#;
const NEAR_PERCENT: u64 = 34;

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Check {
        attributes: String,
        cost: u64,
    },
    /// Without a future, where that can be.
    AtOnce {
        attributes: String,
        cost: u64,
    },
    Rule {
        rule: &'static str,
        attributes: String,
        cost: u64,
    },
    Once {
        attributes: String,
        key: &'static str,
    },
    /// Without attributes: what is refused anyhow.
    Together(Vec<(String, u64)>),
    Limit {
        key: &'static str,
        cost: u64,
    },
    Replace(Rules),
}

#[derive(Clone, Copy, Debug)]
enum Rules {
    First,
    Second,
    Excepted,
}

impl Rules {
    fn policy(self) -> Policy {
        match self {
            Self::First => policy(FIRST),
            Self::Second => policy(SECOND),
            Self::Excepted => {
                let exception = TemporaryOverride::parse(EXCEPTION).expect("an exception");
                policy(FIRST).with(&[exception]).expect("one that fits")
            }
        }
    }
}

fn generate(rng: &Rng) -> ((), Vec<Step>) {
    let attributes = || {
        let path = rng.pick(&["/a", "/b/7", "/c", "/c/d", "/d"]);
        let user = rng.pick(&["", " user=alice", " user=bob"]);
        let org = rng.pick(&["", "", " org=acme", " org=evil"]);
        let tier = rng.pick(&["", "", " tier=gold"]);
        format!("path={path}{user}{org}{tier}")
    };
    let cost = || rng.pick(&[0, 1, 1, 1, 2, 3, 40]);
    let step = |_| match rng.below(12) {
        0 => Step::Wait(rng.pick(&[1, rng.below(700), 1_000])),
        1 => Step::Replace(rng.pick(&[Rules::First, Rules::Second, Rules::Excepted])),
        2 => Step::Rule {
            rule: rng.pick(&["wide", "two", "watched", "barring"]),
            attributes: attributes(),
            cost: cost(),
        },
        3 => Step::Once { attributes: attributes(), key: rng.pick(&["one", "two"]) },
        4 => Step::Limit { key: rng.pick(&["k", "l"]), cost: cost() },
        5 => {
            let one = |_| if rng.one_in(20) { (String::new(), 0) } else { (attributes(), cost()) };
            Step::Together((0..rng.between(1, 3)).map(one).collect())
        }
        6..9 => Step::AtOnce { attributes: attributes(), cost: cost() },
        _ => Step::Check { attributes: attributes(), cost: cost() },
    };
    ((), (0..rng.between(1, 25)).map(step).collect())
}

/// By which route a rule is reached, by hand.
fn route(rule: &str, attributes: &str) -> String {
    let request = request(attributes);
    let path = request.get("path").expect("a path");
    match (rule, path) {
        ("two" | "watched" | "returned" | "barring", "/a") => "/a",
        ("two", path) if path.starts_with("/b/") => "/b/{id}",
        ("below", _) => "/c/*",
        ("watched", "/c/d") => "/c/d",
        ("barring", "/d") => "/d",
        _ => "",
    }
    .to_owned()
}

/// Whom a rule counts a request for, by hand.
fn subject(rule: &str, attributes: &str) -> String {
    if rule == "(ad hoc)" {
        return format!("key={attributes}");
    }
    let request = request(attributes);
    let of = |name: &str| request.get(name).map(|value| format!("{name}={value}"));
    let user = || of("user").unwrap_or_else(|| "user=-".to_owned());
    let org = || of("org").unwrap_or_else(|| "org=-".to_owned());
    match rule {
        "two" => match request.get("path").and_then(|path| path.strip_prefix("/b/")) {
            Some(id) => format!("id={id}"),
            None => of("user").unwrap_or_else(|| "id|user=-".to_owned()),
        },
        "below" => format!("{} {}", org(), user()),
        "barring" => org(),
        "partly" => of("user").or_else(|| of("org")).expect("no other is counted"),
        _ => user(),
    }
}

/// Has a request counted that has these attributes and cost, where these rules look on and would
/// bar it.
fn count_as(attributes: &str, cost: u64, would_block: &[(String, Blocked)], count: &mut dyn FnMut(&Way<'_>)) {
    let (route, subject) = (|rule: &str| route(rule, attributes), |rule: &str| subject(rule, attributes));
    count(&Way { cost, near_percent: NEAR_PERCENT, route: &route, subject: &subject, would_block });
}

/// Rules that look on and would refuse a request without asking a limit.
fn would_block(policy: &Policy, choice: &Choice<'_>) -> Vec<(String, Blocked)> {
    let Choice::Hits(hits) = choice else { return Vec::new() };
    let named = |hit: &Hit<'_>| Some((policy.rules()[hit.rule].name().to_owned(), hit.would_block?));
    hits.iter().filter_map(named).collect()
}

/// Operations of a gate that need no future.
struct SyncOperations<S> {
    check: fn(&Timed<S>, &Request<'_>) -> Option<bool>,
    limit: fn(&Timed<S>, &str, &Limit, u64) -> Option<Verdict>,
}

const IN_MEMORY: SyncOperations<Memory> = SyncOperations {
    check: |gate, request| gate.check_now(request).expect("a request").map(|answer| answer.is_allowed()),
    limit: |gate, key, limit, cost| gate.limit_now(gate.ad_hoc(), key, limit, cost),
};

/// A gate that is observed, and one in memory that is not: both say the same, and the answers of
/// that one are recounted.
struct Twins<'g, S> {
    observed: &'g Timed<S>,
    silent: Timed<Memory>,
    /// Synchronous operations of the first, if its store does not wait.
    sync: Option<&'g SyncOperations<S>>,
    recount: Recount,
}

impl<S: Store> Twins<'_, S> {
    async fn run(&mut self, step: &Step) {
        match step {
            Step::Wait(_) => {}
            Step::Replace(rules) => {
                self.observed.replace(rules.policy());
                self.silent.replace(rules.policy());
            }
            Step::Check { attributes, cost } => {
                self.check(&CheckRequest::from(request(attributes).cost(*cost)), attributes).await;
            }
            Step::AtOnce { attributes, cost } => self.at_once(attributes, *cost).await,
            Step::Rule { rule, attributes, cost } => self.rule(rule, attributes, *cost).await,
            Step::Once { attributes, key } => {
                let idempotency_key = Some((*key).into());
                self.check(
                    &CheckRequest { idempotency_key, ..CheckRequest::from(request(attributes)) },
                    attributes,
                )
                .await;
            }
            Step::Together(several) => self.together(several).await,
            Step::Limit { key, cost } => self.limit(key, *cost).await,
        }
    }

    async fn check(&mut self, ask: &CheckRequest<'_>, attributes: &str) {
        let expected = self.observed.check(ask).await.map(|answer| answer.is_allowed());
        self.recount_check(ask, attributes, expected.ok()).await;
    }

    async fn recount_check(&mut self, ask: &CheckRequest<'_>, attributes: &str, expected: Option<bool>) {
        let answer = self.silent.check(ask).await;
        assert_eq!(answer.as_ref().ok().map(Answer::is_allowed), expected);
        // Otherwise it was a conflict, which is nothing to count.
        if let Ok(answer) = answer {
            let policy = self.silent.policy();
            let would_block = would_block(&policy, &policy.choose(&ask.request).expect("a choice"));
            let count = &mut |way: &Way<'_>| self.recount.answer(&answer, way);
            count_as(attributes, ask.request.requested_cost(), &would_block, count);
        }
    }

    async fn at_once(&mut self, attributes: &str, cost: u64) {
        let ask = CheckRequest::from(request(attributes).cost(cost));
        let expected = self.sync.and_then(|sync| (sync.check)(self.observed, &ask.request));
        match expected {
            Some(expected) => self.recount_check(&ask, attributes, Some(expected)).await,
            None => self.check(&ask, attributes).await,
        }
    }

    async fn rule(&mut self, rule: &str, attributes: &str, cost: u64) {
        let ask = CheckRequest::from(request(attributes).cost(cost));
        let expected = self.observed.check_rule(rule, &ask).await.expect("an answer");
        let answer = self.silent.check_rule(rule, &ask).await.expect("an answer");
        assert_eq!(answer.as_ref().map(Answer::is_allowed), expected.map(|answer| answer.is_allowed()));
        if let Some(answer) = answer {
            let policy = self.silent.policy();
            let choice = policy.choose_rule(rule, &ask.request).expect("a choice").expect("a rule");
            let would_block = would_block(&policy, &choice);
            count_as(attributes, cost, &would_block, &mut |way| self.recount.answer(&answer, way));
        }
    }

    async fn together(&mut self, several: &[(String, u64)]) {
        let demand = |(attributes, cost): &'_ (String, u64)| (attributes.clone(), *cost);
        let owned: Vec<(String, u64)> = several.iter().map(demand).collect();
        let demands: Vec<BatchItem<'_>> = owned
            .iter()
            .map(|(attributes, cost)| match attributes.as_str() {
                "" => BatchItem::Refuse,
                attributes => BatchItem::Check(request(attributes).cost(*cost)),
            })
            .collect();
        let expected = self.observed.check_all(&demands).await.expect("an answer");
        let answers = self.silent.check_all(&demands).await.expect("an answer");
        assert_eq!(answers.is_allowed(), expected.is_allowed());
        let policy = self.silent.policy();
        self.recount.answers(&answers, |index, count| {
            let (attributes, cost) = &owned[index];
            let would_block = match &demands[index] {
                BatchItem::Check(request) => would_block(&policy, &policy.choose(request).expect("a choice")),
                _ => Vec::new(),
            };
            count_as(attributes, *cost, &would_block, count);
        });
    }

    async fn limit(&mut self, key: &str, cost: u64) {
        let limit = "3/s".parse().expect("a limit");
        let expected = match self.sync.filter(|_| cost % 2 == 1) {
            Some(sync) => (sync.limit)(self.observed, key, &limit, cost).expect("memory does not wait"),
            None => self.observed.limit(key, limit, cost).await.expect("an answer"),
        };
        let verdict = self.silent.limit(key, limit, cost).await.expect("an answer");
        assert_eq!(verdict.decisions, expected.decisions);
        count_as(key, cost, &[], &mut |way| self.recount.ad_hoc(&verdict, &limit, way));
    }
}

async fn compare<S: Store>(
    gate: &Timed<S>,
    sync: Option<&SyncOperations<S>>,
    clock: &ManualClock,
    steps: &[Step],
) -> Result<(), String> {
    let silent = timed_by(clock, FIRST, Memory::default());
    let mut twins = Twins { observed: gate, silent, sync, recount: Recount::default() };
    for step in steps {
        if let Step::Wait(ms) = step {
            clock.advance_ms(*ms);
        }
        twins.run(step).await;
    }
    let observer = gate.telemetry().expect("an observer");
    twins.recount.compare(observer, clock.now_ms())
}

fn observer() -> Arc<Telemetry> {
    let near_miss = Percent(100 * NEAR_PERCENT as u32);
    Arc::new(Telemetry::new(TelemetrySettings { near_miss, ..TelemetrySettings::default() }))
}

#[test]
fn in_memory_every_decision_is_counted_once() {
    let runtime = Runtime::new().expect("a runtime");
    prove_part(10, generate, |(), steps| {
        let clock = ManualClock::new(START_MS);
        let gate = timed_by(&clock, FIRST, Memory::default()).observe(observer());
        runtime.block_on(compare(&gate, Some(&IN_MEMORY), &clock, steps))
    });
}

#[test]
fn in_redis_every_decision_is_counted_once() {
    let runtime = Runtime::new().expect("a runtime");
    let server = RedisServer::start(Flavour::Redis70);
    let config = patient(&server.url()).deny_cache(Duration::ZERO);
    let redis = runtime.block_on(async { Redis::by_callers_clock(&config) });
    prove_part(100, generate, |(), steps| {
        server.must(&["FLUSHALL"]);
        let clock = ManualClock::new(START_MS);
        let gate = timed_by(&clock, FIRST, redis.clone()).observe(observer());
        runtime.block_on(compare(&gate, None, &clock, steps))
    });
}
