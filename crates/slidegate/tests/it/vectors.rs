//! Runs the golden decisions of `vectors/` against a store, in the ways that a request can reach
//! it.
//!
//! States cannot be put into a store, so an initial one is built from charges under the largest
//! quota. Entries cannot be seen from outside either: where a trace shows them, what follows from
//! them is compared.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use slidegate::store::{Charge, ChargeRecord, ChargeRequest, Settlement};
use slidegate::{
    Admission, Grants, Key, Limit, LimitKind, MAX_QUOTA, RefundScope, ReserveRequest, SettleOutcome, Space,
    Verdict,
};
use slidegate_core::Receipt;
use slidegate_testkit::vectors::{limit, list, number, text, to_json};

use crate::drivers::Driver;

mod memory;

/// How a request reaches the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// Through the limiter, which decides in place where it can.
    Limiter,
    /// One charge with all limits.
    Together,
    /// A charge for every limit: the way of requests that touch several subjects.
    Apart,
}

/// Runs every trace in these ways on a store made for it; fails with all that is wrong.
pub(crate) fn run_all<S: Driver>(ways: &[Way], make: impl Fn(&[Limit]) -> S) {
    let mut wrong = Vec::new();
    let (mut traces, mut left_out) = (0, 0);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    for file in fs::read_dir(folder).expect("vectors/ is there") {
        let path = file.expect("vectors/ can be read").path();
        // Advice to clients concerns no store, and leases have operations of their own.
        let is_other = ["advice.jsonl", "lease.jsonl"].iter().any(|name| path.ends_with(name));
        if path.extension().is_none_or(|extension| extension != "jsonl") || is_other {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a file of vectors");
        for (line, text) in text.lines().enumerate() {
            let trace: Value = serde_json::from_str(text).expect("a line is a JSON object");
            if let Some(reason) = beyond_reach(&trace) {
                println!("{}:{} is left out: {reason}", path.display(), line + 1);
                left_out += 1;
                continue;
            }
            for way in ways {
                let place = format!("{}:{} {way:?}", path.display(), line + 1);
                wrong.extend(
                    run_trace(&trace, *way, &make).into_iter().map(|what| format!("{place}: {what}")),
                );
            }
            traces += 1;
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(traces >= 255, "only {traces} traces are left");
    assert!(left_out <= 1, "{left_out} traces are left out");
}

/// Why no sequence of charges leads to the state in which a trace begins.
fn beyond_reach(trace: &Value) -> Option<&'static str> {
    let stale = |(limit, state): (&Value, &Value)| {
        let release_ms = state["entries"][0][0].as_u64()? + number(&limit["window_ms"]);
        (release_ms <= number(&state["last_ms"])).then_some(())
    };
    let initial = trace["initial"].as_array()?;
    list(&trace["limits"]).iter().zip(initial).find_map(stale)?;
    trace["steps"][0]["at_ms"].as_u64().filter(|at_ms| *at_ms < number(&initial[0]["last_ms"]))?;
    Some(
        "its log keeps an entry that had left the window when it was last written, and the clock steps back to it",
    )
}

/// What an admitted step wrote, limit by limit, `None` where it only looked; and its permits,
/// charge by charge.
#[derive(Clone)]
struct Recorded {
    receipts: Vec<Option<Receipt>>,
    granted: Grants,
    /// How many limits a charge has.
    limits_a_charge: usize,
}

struct Run<S> {
    way: Way,
    store: S,
    limits: Vec<Limit>,
    permits: Vec<Option<Recorded>>,
    /// Whether the trace settles what it was admitted: the limiter gives its permits no names.
    settles: bool,
}

fn run_trace<S: Driver>(trace: &Value, way: Way, make: impl Fn(&[Limit]) -> S) -> Vec<String> {
    let limits: Vec<Limit> = list(&trace["limits"]).iter().map(limit).collect();
    let settles = list(&trace["steps"]).iter().any(|step| matches!(text(&step["op"]), "refund" | "settle"));
    let mut run = Run { way, store: make(&limits), limits, permits: Vec::new(), settles };
    if let Some(initial) = trace["initial"].as_array() {
        initial.iter().enumerate().for_each(|(index, state)| run.build(index, state));
    }
    let mut wrong = Vec::new();
    for (index, step) in list(&trace["steps"]).iter().enumerate() {
        let (answer, expect) = (run.step(step, index as u64), &step["expect"]);
        if !answers(&answer, expect) {
            let name = &trace["name"];
            wrong.push(format!("{name}, step {index}\n  expected {expect}\n  answered {answer}"));
        }
    }
    wrong
}

/// Whether all that was expected was answered, the entries of a log aside.
fn answers(answer: &Value, expect: &Value) -> bool {
    let expect = expect.as_object().expect("an answer is an object");
    expect.iter().all(|(field, value)| field == "state" || answer[field] == *value)
}

impl<S: Driver> Run<S> {
    fn step(&mut self, step: &Value, index: u64) -> Value {
        if let Some(limits) = step["limits"].as_array() {
            self.limits = limits.iter().map(limit).collect();
        }
        let at_ms = number(&step["at_ms"]);
        if let "refund" | "settle" = text(&step["op"]) {
            self.permits.push(None);
            let (of, cost) = (number(&step["of"]), step["cost"].as_u64().unwrap_or(0));
            return self.settle(of, cost, at_ms, &step["expect"]["settled"]);
        }
        let cost = |limit: usize| match &step["costs"] {
            Value::Null => step["cost"].as_u64().unwrap_or(0),
            costs => number(&costs[limit]),
        };
        let costs: Vec<u64> = (0..self.limits.len()).map(cost).collect();
        if text(&step["op"]) == "give_back" {
            self.permits.push(None);
            return to_json(&self.give_back(&costs, at_ms));
        }
        let Admission { verdict, grants: granted } = self.check(&costs, at_ms, index);
        let receipts = verdict.decisions.iter().zip(&costs).map(|(decision, &cost)| {
            (cost > 0).then_some(Receipt { stamp_ms: decision.stamp_ms, cost, holder: index })
        });
        let limits_a_charge = self.limits_a_charge(&costs);
        let receipts = receipts.collect();
        let recorded = Recorded { receipts, granted, limits_a_charge };
        self.permits.push(verdict.is_allowed().then_some(recorded));
        to_json(&verdict)
    }

    fn check(&self, costs: &[u64], at_ms: u64, holder: u64) -> Admission {
        let same = costs.iter().all(|cost| *cost == costs[0]);
        // A holder is released under the id that the trace gives it, and the limiter gives its own.
        let numbered = self.limits.iter().any(Limit::needs_id);
        if self.way == Way::Limiter
            && same
            && !numbered
            && !self.settles
            && let Some(verdict) = self.store.limiter(&self.limits, "key", costs[0], at_ms)
        {
            return verdict.into();
        }
        charge(&self.store, &self.charges(costs), at_ms, holder)
    }

    fn give_back(&self, costs: &[u64], now_ms: u64) -> Verdict {
        let key = key();
        let charge = |(limits, cost)| Charge { space: space(), key: &key, limits, cost };
        let charges: Vec<Charge<'_>> = self.charges(costs).into_iter().map(charge).collect();
        self.store.give_back(&ChargeRequest { now_ms, holder: 0, charges: &charges })
    }

    fn limits_a_charge(&self, costs: &[u64]) -> usize {
        let same = costs.iter().all(|cost| *cost == costs[0]);
        if same && self.way != Way::Apart { self.limits.len() } else { 1 }
    }

    /// Limits that are charged together, and how much.
    fn charges(&self, costs: &[u64]) -> Vec<(&[Limit], u64)> {
        let parts = self.limits_a_charge(costs);
        self.limits.chunks(parts).zip(costs.iter().step_by(parts).copied()).collect()
    }

    /// Settles what a step recorded, and says so in the words of the trace. The store answers once
    /// for all limits of a charge.
    fn settle(&self, of: u64, cost: u64, now_ms: u64, expect: &Value) -> Value {
        let recorded = self.permits[of as usize].as_ref().expect("a permit of an admitted step");
        let Recorded { receipts, granted, limits_a_charge } = recorded;
        let limits: Vec<(&Limit, &Option<Receipt>)> = self.limits.iter().zip(receipts).collect();
        let parts = limits.chunks(*limits_a_charge).zip(list(expect).chunks(*limits_a_charge)).enumerate();
        let parts: Vec<(ChargeRecord<'_>, &[Value])> = parts
            .filter_map(|(index, (limits, words))| {
                let receipts = limits.iter().filter_map(|(limit, receipt)| Some((limit.id(), (**receipt)?)));
                let (receipts, grant) = (receipts.collect(), granted.of(index)?);
                Some((ChargeRecord { space: space(), key: key(), grant, receipts }, words))
            })
            .collect();
        let subjects = parts.iter().map(|(charged, _)| charged.clone()).collect();
        let outcomes = self.store.settle(&Settlement { now_ms, id: of, cost, slots: cost, subjects });
        let right = outcomes.iter().zip(&parts).all(|(outcome, (_, words))| match outcome {
            SettleOutcome::AlreadySpent => words.iter().all(|word| word == "spent"),
            SettleOutcome::Settled => words.iter().any(|word| word == "done"),
            // What has left the window need not be told from what is spent.
            SettleOutcome::Expired | SettleOutcome::Void => words.iter().all(|word| word != "done"),
            SettleOutcome::PartlySettled => false,
        });
        json!({ "settled": if right { expect.clone() } else { json!(format!("{outcomes:?}")) } })
    }

    /// Charges until the state of a limit is the given one.
    fn build(&self, index: usize, state: &Value) {
        let (store, limit) = (&self.store, self.limits[index]);
        let charge_at = |units: u64, at_ms: u64, holder: u64| {
            let verdict = charge(store, &[(&[limit], units)], at_ms, holder).verdict;
            assert!(verdict.is_allowed(), "the state can be built: {verdict:?}");
        };
        let last_ms = number(&state["last_ms"]);
        match limit.kind() {
            LimitKind::Log { .. } => {
                list(&state["entries"]).iter().for_each(|e| charge_at(number(&e[1]), number(&e[0]), 0));
            }
            LimitKind::Counter => {
                let previous_ms = last_ms - limit.window_ms();
                let counts =
                    [(number(&state["previous"]), previous_ms), (number(&state["current"]), last_ms)];
                self.pile(&limit, &counts);
            }
            LimitKind::Fixed => charge_at(number(&state["current"]), last_ms, 0),
            LimitKind::Gcra { .. } => {
                let (debt, window_ms) = (number(&state["debt"]), limit.window_ms());
                let units = debt.div_ceil(window_ms);
                // So much earlier that the rest of the last unit has drained.
                charge_at(units, last_ms - (units * window_ms - debt) / limit.quota(), 0);
            }
            LimitKind::InFlight => {
                for holder in list(&state["holders"]) {
                    let start_ms = number(&holder[2]) - limit.window_ms();
                    charge_at(number(&holder[1]), start_ms, number(&holder[0]));
                }
            }
        }
    }

    /// Records counts whatever the quota: single units, settled to as many as there should be.
    fn pile(&self, limit: &Limit, counts: &[(u64, u64)]) {
        let store = &self.store;
        let log = Limit::new(MAX_QUOTA, Duration::from_millis(limit.window_ms()));
        let roomy = log.and_then(Limit::counter).expect("a counter");
        let halves = |&(units, at_ms): &(u64, u64)| {
            [(units.min(MAX_QUOTA), at_ms), (units.saturating_sub(MAX_QUOTA), at_ms)]
        };
        let parts = counts.iter().flat_map(halves).filter(|(units, _)| *units > 0);
        let charged = parts.map(|(units, at_ms)| {
            let Admission { verdict, grants: granted } = charge(store, &[(&[roomy], 1)], at_ms, 0);
            let receipt = Receipt { stamp_ms: verdict.decisions[0].stamp_ms, cost: 1, holder: 0 };
            (units, receipt, granted.of(0).expect("a permit"), at_ms)
        });
        for (units, receipt, grant, now_ms) in charged.collect::<Vec<_>>() {
            let receipts = vec![(limit.id(), receipt)];
            let subjects = vec![ChargeRecord { space: space(), key: key(), grant, receipts }];
            let settlement = Settlement { now_ms, id: 0, cost: units, slots: 0, subjects };
            assert_eq!(store.settle(&settlement), [SettleOutcome::Settled]);
        }
    }
}

/// The subject of a trace, which has a store to itself.
fn key() -> Key<'static> {
    "key".into()
}

fn space() -> Space {
    Space::named("")
}

fn charge(store: &impl Driver, charges: &[(&[Limit], u64)], now_ms: u64, holder: u64) -> Admission {
    let key = key();
    let charge = |&(limits, cost)| Charge { space: space(), key: &key, limits, cost };
    let charges: Vec<Charge<'_>> = charges.iter().map(charge).collect();
    let call = ChargeRequest { now_ms, holder, charges: &charges };
    store.reserve(&ReserveRequest { charge: call, refunds: &vec![RefundScope::Everything; charges.len()] })
}
