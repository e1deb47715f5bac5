//! Runs the golden decisions of `vectors/` against the core.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use slidegate_core::{
    Attempt, Counter, Decision, Fixed, Gcra, Holder, InFlight, Limit, LimitAttempt, LimitKind, Log, LogEntry,
    Receipt, SettleEffect, State, Verdict, decide, decide_one,
};
use slidegate_testkit::vectors::{limit, list, number, text, to_json};

#[test]
fn log() {
    run_file("log", 28);
}

#[test]
fn counter() {
    run_file("counter", 28);
}

#[test]
fn fixed() {
    run_file("fixed", 11);
}

#[test]
fn gcra() {
    run_file("gcra", 22);
}

#[test]
fn in_flight() {
    run_file("in_flight", 10);
}

#[test]
fn multi() {
    run_file("multi", 13);
}

#[test]
fn clock() {
    run_file("clock", 76);
}

#[test]
fn settle() {
    run_file("settle", 32);
}

#[test]
fn give_back() {
    run_file("give_back", 22);
}

#[test]
fn large() {
    run_file("large", 18);
}

/// Runs every trace of a file. `least` guards against a file that lost its lines.
fn run_file(topic: &str, least: usize) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(topic).with_extension("jsonl");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut wrong = Vec::new();
    let mut traces = 0;
    for (line, text) in text.lines().enumerate() {
        let trace: Value = serde_json::from_str(text).expect("a line is a JSON object");
        wrong.extend(run_trace(&trace).into_iter().map(|what| format!("{topic}.jsonl:{}: {what}", line + 1)));
        traces += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(traces >= least, "{topic}.jsonl has {traces} traces, fewer than {least}");
}

/// What an admitted step wrote, for refunds of it: one receipt per limit, `None` where it only
/// looked.
type Permit = Vec<Option<Receipt>>;

struct Run {
    limits: Vec<Limit>,
    states: Vec<State>,
    permits: Vec<Option<Permit>>,
    spent: Vec<usize>,
}

fn run_trace(trace: &Value) -> Vec<String> {
    let limits: Vec<Limit> = list(&trace["limits"]).iter().map(limit).collect();
    let states = limits
        .iter()
        .enumerate()
        .map(|(index, limit)| match &trace["initial"][index] {
            Value::Null => State::new(limit),
            initial => state(limit, initial),
        })
        .collect();
    let mut run = Run { limits, states, permits: Vec::new(), spent: Vec::new() };
    let mut wrong = Vec::new();
    for (index, step) in list(&trace["steps"]).iter().enumerate() {
        let answer = run.step(step, index as u64);
        if answer != step["expect"] {
            let (name, expect) = (&trace["name"], &step["expect"]);
            wrong.push(format!("{name}, step {index}\n  expected {expect}\n  answered {answer}"));
        }
    }
    wrong
}

impl Run {
    fn step(&mut self, step: &Value, index: u64) -> Value {
        if let Some(limits) = step["limits"].as_array() {
            self.limits = limits.iter().map(limit).collect();
        }
        let at_ms = number(&step["at_ms"]);
        let mut answer = match text(&step["op"]) {
            "check" | "peek" => self.check(step, at_ms, index),
            "give_back" => {
                self.permits.push(None);
                self.give_back(step, at_ms)
            }
            "refund" | "settle" => {
                self.permits.push(None);
                self.settle(number(&step["of"]) as usize, step["cost"].as_u64().unwrap_or(0), at_ms)
            }
            op => panic!("unknown op {op}"),
        };
        if !step["expect"]["state"].is_null() {
            answer["state"] = self.states_json(at_ms);
        }
        answer
    }

    fn give_back(&mut self, step: &Value, at_ms: u64) -> Value {
        let mut attempts: Vec<LimitAttempt<'_>> = self
            .limits
            .iter()
            .zip(&mut self.states)
            .enumerate()
            .map(|(index, (limit, state))| LimitAttempt {
                limit,
                cost: cost_of(step, index),
                holder: 0,
                state,
            })
            .collect();
        to_json(&slidegate_core::give_back(&mut attempts, at_ms))
    }

    fn check(&mut self, step: &Value, at_ms: u64, holder: u64) -> Value {
        let cost = |index: usize| cost_of(step, index);
        let verdict = self.decide(cost, at_ms, holder);
        let receipt = |(index, decision): (usize, &Decision)| {
            (cost(index) > 0).then_some(Receipt { stamp_ms: decision.stamp_ms, cost: cost(index), holder })
        };
        let permit = verdict.decisions.iter().enumerate().map(receipt).collect();
        self.permits.push(verdict.is_allowed().then_some(permit));
        to_json(&verdict)
    }

    /// Decides, and where there is one limit makes sure that the shorter ways give the same answer.
    fn decide(&mut self, cost: impl Fn(usize) -> u64, now_ms: u64, holder: u64) -> Verdict {
        let alone = self.states.first().cloned();
        let mut attempts: Vec<LimitAttempt<'_>> = self
            .limits
            .iter()
            .zip(&mut self.states)
            .enumerate()
            .map(|(index, (limit, state))| LimitAttempt { limit, cost: cost(index), holder, state })
            .collect();
        let verdict = decide(&mut attempts, now_ms);
        if let (Some(before), [limit]) = (alone, &self.limits[..]) {
            let attempt = Attempt { now_ms, cost: cost(0), holder };
            let (mut direct, mut generic) = (before.clone(), before);
            assert_eq!(direct.decide(limit, attempt), verdict.decisions[0]);
            assert_eq!(decide_one(&mut generic, limit, attempt), verdict.decisions[0]);
            let states = [&self.states[0], &direct, &generic].map(|state| format!("{state:?}"));
            assert!(states.iter().all(|state| *state == states[0]), "{states:#?}");
        }
        verdict
    }

    fn settle(&mut self, of: usize, cost: u64, at_ms: u64) -> Value {
        let permit = self.permits[of].clone().expect("a permit of an admitted step");
        let fresh = !self.spent.contains(&of);
        self.spent.push(of);
        let settled =
            self.states.iter_mut().zip(&self.limits).zip(&permit).map(|((state, limit), receipt)| {
                if !fresh {
                    return "spent";
                }
                match receipt.as_ref().map(|receipt| state.settle(limit, receipt, cost, at_ms)) {
                    Some(SettleEffect::Done) => "done",
                    Some(SettleEffect::Gone) | None => "gone",
                    Some(SettleEffect::Unsupported) => "unsupported",
                }
            });
        json!({ "settled": settled.collect::<Vec<_>>() })
    }

    fn states_json(&mut self, at_ms: u64) -> Value {
        let states = self.states.iter_mut().zip(&self.limits).map(|(state, limit)| {
            state.decide(limit, Attempt { now_ms: at_ms, cost: 0, holder: 0 });
            match state {
                State::Log(log) => {
                    let entries: Vec<_> = log.entries().map(|e| json!([e.stamp_ms, e.count])).collect();
                    json!({ "entries": entries })
                }
                _ => Value::Null,
            }
        });
        states.collect()
    }
}

/// What a step costs, or gives back, under the limit at this place.
fn cost_of(step: &Value, limit: usize) -> u64 {
    match &step["costs"] {
        Value::Null => step["cost"].as_u64().unwrap_or(0),
        costs => number(&costs[limit]),
    }
}

fn state(limit: &Limit, initial: &Value) -> State {
    let field = |name: &str| number(&initial[name]);
    let last_ms = field("last_ms");
    match limit.kind() {
        LimitKind::Log { .. } => {
            let entry = |e: &Value| LogEntry { stamp_ms: number(&e[0]), count: number(&e[1]) };
            State::Log(Log::from_entries(last_ms, list(&initial["entries"]).iter().map(entry)))
        }
        LimitKind::Counter => State::Counter(Counter::new(last_ms, field("previous"), field("current"))),
        LimitKind::Fixed => State::Fixed(Fixed { last_ms, current: field("current") }),
        LimitKind::Gcra { .. } => State::Gcra(Gcra { last_ms, debt: field("debt"), quota: limit.quota() }),
        LimitKind::InFlight => {
            let holder =
                |h: &Value| Holder { id: number(&h[0]), count: number(&h[1]), end_ms: number(&h[2]) };
            State::InFlight(InFlight::from_holders(last_ms, list(&initial["holders"]).iter().map(holder)))
        }
    }
}
