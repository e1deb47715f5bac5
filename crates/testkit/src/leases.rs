//! Traces of leases: the JSON of `vectors/lease.jsonl`, and operations on any store.

use serde_json::{Value, json};
use slidegate_core::{
    Decision, LeaseClose, LeaseReply, LeaseRequest, LeaseUse, Limit, LimitAttempt, MAX_LEASE_USES, Outcome,
    Prepayment, State, decide_prepaid, give_back,
};

use crate::vectors::{limit, list, number, text};

/// Operation on a log of which parts may be on lease.
#[derive(Clone, Copy, Debug)]
pub enum LeaseOperation {
    /// A request of a node.
    Lease(LeaseRequest),
    /// The end of a lease.
    Close(LeaseClose),
    /// A charge, with a prepayment.
    Check {
        /// Its cost.
        cost: u64,
        /// Its prepayment.
        prepayment: Option<Prepayment>,
    },
    /// Units given back.
    GiveBack(u64),
    /// A reset.
    Reset,
}

/// Answer to a [`LeaseOperation`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaseAnswer {
    /// To a request of a node.
    Lease(LeaseReply),
    /// To the end of a lease: whether it was newer than the row.
    Closed(bool),
    /// To a charge, and to units given back. Its stamp is 0.
    Decision(Decision),
    /// To a reset.
    Reset,
}

/// Trace of a file.
pub struct LeaseTrace {
    /// What it shows.
    pub name: String,
    /// Its limit.
    pub limit: Limit,
    /// Time, operation and expected answer of each step.
    pub steps: Vec<(u64, LeaseOperation, Value)>,
}

impl LeaseTrace {
    /// The trace of a line.
    pub fn parse(line: &str) -> Self {
        let trace: Value = serde_json::from_str(line).expect("a line is a JSON object");
        let step = |step: &Value| (number(&step["at_ms"]), operation(step), step["expect"].clone());
        Self {
            name: text(&trace["name"]).to_owned(),
            limit: limit(&trace["limit"]),
            steps: list(&trace["steps"]).iter().map(step).collect(),
        }
    }

    /// Runs the trace; returns what is wrong.
    pub fn run(&self, mut answer: impl FnMut(&Limit, LeaseOperation, u64) -> LeaseAnswer) -> Option<String> {
        for (index, (at_ms, operation, expect)) in self.steps.iter().enumerate() {
            let answer = to_json(answer(&self.limit, *operation, *at_ms));
            if answer != *expect {
                return Some(format!(
                    "{}, step {index}: {operation:?}\n  expected {expect}\n  answered {answer}",
                    self.name
                ));
            }
        }
        None
    }
}

/// Answer of the core.
pub fn answer_of_state(
    state: &mut State,
    limit: &Limit,
    operation: LeaseOperation,
    now_ms: u64,
) -> LeaseAnswer {
    match operation {
        LeaseOperation::Lease(request) => {
            LeaseAnswer::Lease(state.lease(limit, &request, now_ms).expect("a log"))
        }
        LeaseOperation::Close(close) => {
            LeaseAnswer::Closed(state.close_lease(limit, &close, now_ms).expect("a log"))
        }
        LeaseOperation::Check { cost, prepayment } => {
            let attempt = LimitAttempt { limit, cost, holder: 0, state };
            decision(decide_prepaid(&mut [attempt], &[prepayment], now_ms).decisions[0])
        }
        LeaseOperation::GiveBack(cost) => {
            let attempt = LimitAttempt { limit, cost, holder: 0, state };
            decision(give_back(&mut [attempt], now_ms).decisions[0])
        }
        LeaseOperation::Reset => {
            state.reset(limit);
            LeaseAnswer::Reset
        }
    }
}

/// Answer that is a decision, without its stamp.
pub fn decision(decision: Decision) -> LeaseAnswer {
    LeaseAnswer::Decision(Decision { stamp_ms: 0, ..decision })
}

fn operation(step: &Value) -> LeaseOperation {
    let field = |name: &str| number(&step[name]);
    match text(&step["op"]) {
        "lease" => LeaseOperation::Lease(LeaseRequest {
            node: field("node"),
            sequence: field("sequence"),
            hold: field("hold"),
            want: field("want"),
            demand: field("demand"),
            length_ms: field("length_ms"),
        }),
        "close" => {
            let mut uses = [LeaseUse::default(); MAX_LEASE_USES];
            for (part, used) in uses.iter_mut().zip(list(&step["uses"])) {
                *part = LeaseUse { age_ms: number(&used[0]), units: number(&used[1]) };
            }
            LeaseOperation::Close(LeaseClose { node: field("node"), sequence: field("sequence"), uses })
        }
        "check" => {
            let prepaid = &step["prepaid"];
            let prepayment = (!prepaid.is_null()).then(|| Prepayment {
                node: number(&prepaid["node"]),
                sequence: number(&prepaid["sequence"]),
                units: number(&prepaid["units"]),
            });
            LeaseOperation::Check { cost: field("cost"), prepayment }
        }
        "give_back" => LeaseOperation::GiveBack(field("cost")),
        "reset" => LeaseOperation::Reset,
        op => panic!("unknown op {op}"),
    }
}

fn to_json(answer: LeaseAnswer) -> Value {
    match answer {
        LeaseAnswer::Lease(LeaseReply::Grant(grant)) => json!({
            "limit": grant.limit,
            "free": grant.free,
            "epoch": grant.epoch,
            "at_ms": grant.at_ms,
        }),
        LeaseAnswer::Lease(LeaseReply::Stale) | LeaseAnswer::Closed(false) => json!("stale"),
        LeaseAnswer::Lease(LeaseReply::Full { .. }) => json!("full"),
        LeaseAnswer::Closed(true) => json!("closed"),
        LeaseAnswer::Decision(decision) => json!({
            "outcome": match decision.outcome {
                Outcome::Fits => json!("fits"),
                Outcome::RetryAfter(ms) => json!(ms),
                Outcome::Never => json!("never"),
            },
            "remaining": decision.remaining,
            "reset_after_ms": decision.reset_after_ms,
        }),
        LeaseAnswer::Reset => json!("done"),
    }
}
