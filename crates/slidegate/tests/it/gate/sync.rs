//! Requests that are decided without a future get the same answers as those with one.

use futures_util::FutureExt;
use slidegate::{Answer, CheckRequest, Request, Verdict};
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use crate::gates::{Gated, gate, request};

const RULES: &str = "
  - { name: wide, key: [user], limits: [9/s, { quota: 20, window: 3s, algorithm: counter }], tiers: { gold: [30/s] } }
  - { name: a, match: { path: /a }, key: [ip], deny: [{ ip: 192.0.2.1 }], limits: [{ quota: 6, window: 700ms, algorithm: fixed }] }
  - { name: b, match: { path: /b }, key: [user], missing: deny, limits: [{ quota: 7, window: 1s, algorithm: gcra, burst: 5 }] }
  - { name: watched, match: { path: /c }, mode: observe, limits: [2/s] }
  - { name: returned, match: { path: /d }, refundable: true, limits: [3/s] }
  - { name: held, match: { path: /e }, limits: [{ in_flight: 2, hold: 1s }] }
";

/// Policies whose one rule is for every request and has nothing but its limits.
const PLAIN_RULES: [&str; 8] = [
    "  - { name: log, key: [ip], limits: [6/s] }\n",
    "  - { name: counter, key: [user], limits: [{ quota: 6, window: 1s, algorithm: counter }] }\n",
    "  - { name: fixed, key: ['user|ip'], limits: [{ quota: 6, window: 700ms, algorithm: fixed }] }\n",
    "  - { name: gcra, key: [path, ip], missing: deny, limits: [{ quota: 7, window: 1s, algorithm: gcra, burst: 5 }] }\n",
    "  - { name: pair, key: [ip], missing: skip, limits: [4/s, { quota: 20, window: 3s, algorithm: counter }] }\n",
    "  - { name: all, limits: [3/s, 9/3s, 12/4s] }\n",
    "  - { name: returned, key: [ip], refundable: true, limits: [3/s] }\n",
    "  - { name: held, key: [ip], limits: [{ in_flight: 2, hold: 1s }, 5/s] }\n",
];

#[derive(Clone, Debug)]
struct Step {
    wait_ms: u64,
    attributes: String,
    cost: u64,
}

/// Steps, on rules of several kinds or on a plain one.
fn generate(rng: &Rng) -> (&'static str, Vec<Step>) {
    let step = |_| {
        let user = rng.pick(&["", " user=alice", " user=bob", " user=alice tier=gold"]);
        let path = rng.pick(&["/a", "/b", "/c", "/d", "/e", "/f"]);
        let ip = rng.pick(&["192.0.2.1", "192.0.2.2", "::ffff:192.0.2.2", "nowhere"]);
        Step {
            wait_ms: rng.pick(&[0, 0, 1, rng.below(400), 1_000]),
            attributes: format!("path={path} ip={ip}{user}"),
            cost: rng.pick(&[0, 1, 1, 1, 2, 5, 40]),
        }
    };
    let rules = if rng.below(2) == 0 { RULES } else { rng.pick(&PLAIN_RULES) };
    (rules, (0..rng.between(1, 20)).map(step).collect())
}

/// Everything in an answer but ids, which are drawn at random. How decisions are stored may differ.
fn render(answer: &Answer) -> String {
    let Verdict { decided_at_ms, source, decisions, .. } = answer.verdict();
    let limits: Vec<_> = answer.limits().map(|limit| (limit.rule, limit.name, limit.wait())).collect();
    let dry_runs: Vec<_> = answer.observed().map(|limit| (limit.name, limit.decision)).collect();
    format!(
        "{} {decided_at_ms} {source:?} {:?} {limits:?} {:?} {:?} {dry_runs:?} {}",
        answer.is_allowed(),
        &**decisions,
        answer.summary(),
        answer.blocked(),
        answer.unsigned_permit().is_some(),
    )
}

fn sync(gate: &Gated, request: &Request<'_>) -> Result<String, String> {
    let answer = gate.check_now(request).map_err(|error| error.to_string())?;
    Ok(render(&answer.expect("the state is in memory")))
}

fn with_future(gate: &Gated, request: Request<'_>) -> Result<String, String> {
    let answer = gate.check(&CheckRequest::from(request)).now_or_never().expect("memory answers at once");
    Ok(render(&answer.map_err(|error| error.to_string())?))
}

#[test]
fn both_ways_give_the_same_answer() {
    prove(generate, |rules, steps| {
        let ((one, clock), (other, its_clock)) = (gate(rules), gate(rules));
        for step in steps {
            clock.advance_ms(step.wait_ms);
            its_clock.advance_ms(step.wait_ms);
            let request = || request(&step.attributes).cost(step.cost);
            let (expected, found) = (with_future(&other, request()), sync(&one, &request()));
            ensure!(found == expected, "{step:?}: {found:?}, not {expected:?}");
        }
        Ok(())
    });
}
