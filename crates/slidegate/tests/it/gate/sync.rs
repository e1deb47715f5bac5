//! Requests that are decided without a future get the same answers as those with one.

use futures_util::FutureExt;
use slidegate::{CheckRequest, Request, Summary, SyncAnswer, Verdict};
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

#[derive(Clone, Debug)]
struct Step {
    wait_ms: u64,
    attributes: String,
    cost: u64,
}

fn generate(rng: &Rng) -> ((), Vec<Step>) {
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
    ((), (0..rng.between(1, 20)).map(step).collect())
}

/// Whether it passes, every decision, and the numbers of the request. How decisions are kept may
/// differ.
fn text(is_allowed: bool, verdict: &Verdict, summary: Summary) -> String {
    let Verdict { decided_at_ms, source, decisions, .. } = verdict;
    format!("{is_allowed} {decided_at_ms} {source:?} {:?} {summary:?}", &**decisions)
}

fn render(answer: SyncAnswer<'_>) -> String {
    text(answer.is_allowed(), answer.verdict(), answer.summary())
}

fn at_once(gate: &Gated, request: &Request<'_>) -> Result<Option<String>, String> {
    let said = gate.check_now(request, render);
    said.map_err(|error| error.to_string())
}

fn in_time(gate: &Gated, request: Request<'_>) -> Result<String, String> {
    let answer = gate.check(&CheckRequest::from(request)).now_or_never().expect("memory answers at once");
    let answer = answer.map_err(|error| error.to_string())?;
    Ok(text(answer.is_allowed(), answer.verdict(), answer.summary()))
}

#[test]
fn both_ways_say_the_same() {
    prove(generate, |(), steps| {
        let ((one, clock), (other, its_clock)) = (gate(RULES), gate(RULES));
        for step in steps {
            clock.advance_ms(step.wait_ms);
            its_clock.advance_ms(step.wait_ms);
            let asked = || request(&step.attributes).cost(step.cost);
            let expected = in_time(&other, asked());
            let said = match at_once(&one, &asked()) {
                Ok(Some(said)) => Ok(said),
                // Nothing was decided: it has to be asked in time.
                Ok(None) => in_time(&one, asked()),
                Err(error) => Err(error),
            };
            ensure!(said == expected, "{step:?}: {said:?}, not {expected:?}");
        }
        Ok(())
    });
}
