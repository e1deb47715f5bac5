//! Requests that are decided together, against a walk that asks about one limit after the other.

use std::collections::HashMap;

use slidegate::{BatchItem, CheckRequest, ManualClock, Memory, Store};
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::ensure;
use tokio::runtime::Runtime;

use crate::gates::{START_MS, request};
use crate::redis::batches::{Both, Timed, both, check, timed_by};

/// No two limits of one rule, so that a rule and a user are all there is to know of a subject. Its
/// quota may be another one in every request.
const RULES: &str = "
  - { name: wide, key: [user], limits: [9/s], tiers: { gold: [14/s], iron: [3/s] } }
  - { name: a, match: { path: /a }, key: [user], limits: [{ quota: 6, window: 700ms, algorithm: counter }],
      overrides: [{ when: { tier: gold }, limits: [{ quota: 11, window: 700ms, algorithm: counter }] }] }
  - { name: b, match: { path: /b }, limits: [{ quota: 7, window: 1s, algorithm: gcra, burst: 5 }] }
  - { name: c, match: { path: /c, user: alice }, key: [user], limits: [{ quota: 4, window: 500ms, algorithm: fixed }] }
";

#[derive(Clone, Debug)]
struct Step {
    wait_ms: u64,
    demands: Vec<(String, u64)>,
}

fn generate(rng: &Rng) -> ((), Vec<Step>) {
    let step = |_| Step {
        wait_ms: rng.pick(&[0, 0, 1, rng.below(400), 500, 1_000]),
        demands: (0..rng.between(1, 4))
            .map(|_| {
                let user = rng.pick(&["alice", "bob"]);
                let path = rng.pick(&["/a", "/b", "/c", "/d"]);
                let tier = rng.pick(&["", "", " tier=gold", " tier=iron"]);
                (format!("path={path} user={user}{tier}"), rng.pick(&[0, 1, 1, 1, 2, 3, 5, 8]))
            })
            .collect(),
    };
    ((), (0..rng.between(1, 12)).map(step).collect())
}

/// What every limit of a request has left, by rule and by subject, and what is not shared.
async fn left(naive: &Timed<Memory>, attributes: &str) -> Vec<(String, u64)> {
    let look = naive.check(&CheckRequest::from(request(attributes).cost(0))).await.expect("an answer");
    let user = request(attributes).get("user").unwrap_or_default().to_owned();
    let limits = look.limits().map(|limit| {
        let rule = limit.rule.expect("a rule");
        let subject = if rule == "b" { String::new() } else { user.clone() };
        (format!("{rule} {subject}"), limit.decision.remaining)
    });
    limits.collect()
}

/// Whether all fit: every subject has room for the sum of what it is asked for.
async fn fits(naive: &Timed<Memory>, step: &Step) -> bool {
    let mut sums: HashMap<String, (u64, u64)> = HashMap::new();
    for (attributes, cost) in &step.demands {
        for (subject, left) in left(naive, attributes).await {
            let (sum, least) = sums.entry(subject).or_insert((0, left));
            (*sum, *least) = (*sum + cost, (*least).min(left));
        }
    }
    sums.values().all(|(cost, left)| cost <= left)
}

async fn run<S: Store>(gate: &Timed<S>, naive: &Timed<Memory>, step: &Step) -> Result<(), String> {
    let demands: Vec<BatchItem<'_>> =
        step.demands.iter().map(|(attributes, cost)| check(attributes, *cost)).collect();
    let expected = fits(naive, step).await;
    let answers = gate.check_all(&demands).await.map_err(|error| error.to_string())?;
    ensure!(answers.is_allowed() == expected, "allowed: {}, naive: {expected}", answers.is_allowed());
    ensure!(answers.items().len() == demands.len(), "{} answers", answers.items().len());
    if expected {
        for (attributes, cost) in &step.demands {
            let one =
                naive.check(&CheckRequest::from(request(attributes).cost(*cost))).await.expect("an answer");
            ensure!(one.is_allowed(), "{attributes} fits with all the others, and not by itself");
        }
    }
    for ((attributes, _), one) in step.demands.iter().zip(answers.items()) {
        let remaining: Vec<u64> = one.limits().map(|limit| limit.decision.remaining).collect();
        let left: Vec<u64> = left(naive, attributes).await.into_iter().map(|(_, left)| left).collect();
        ensure!(remaining == left, "{attributes}: {remaining:?} left, naive {left:?}");
    }
    Ok(())
}

#[test]
fn in_memory_as_one_after_the_other() {
    let runtime = Runtime::new().expect("a runtime");
    prove_part(20, generate, |(), steps| {
        let clock = ManualClock::new(START_MS);
        let gate = timed_by(&clock, RULES, Memory::default());
        runtime.block_on(compare(&gate, &clock, steps))
    });
}

#[test]
fn in_redis_as_one_after_the_other() {
    let runtime = Runtime::new().expect("a runtime");
    let both = runtime.block_on(async { both(RULES) });
    prove_part(100, generate, |(), steps| {
        runtime.block_on(async {
            reset(&both).await;
            compare(&both.redis, &both.clock, steps).await
        })
    });
}

/// Every case begins with nothing.
async fn reset(both: &Both) {
    for (rule, user) in [(None, "user=alice"), (None, "user=bob"), (Some("b"), "")] {
        both.redis.reset(rule, &request(user)).await.expect("a reset");
    }
}

async fn compare<S: Store>(gate: &Timed<S>, clock: &ManualClock, steps: &[Step]) -> Result<(), String> {
    let naive = timed_by(clock, RULES, Memory::default());
    for step in steps {
        clock.advance_ms(step.wait_ms);
        run(gate, &naive, step).await?;
    }
    Ok(())
}
