//! `POST /v1/refund` and `POST /v1/settle`: refunds a permit, or settles it at its actual cost.

use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use slidegate::{CallError, Clock, Permit, PermitError, SettleOutcome, SettlementReport};

use super::number::whole;
use crate::protocols::json_body;
use crate::protocols::problem::{JSON, Problem, Reply, reply};
use crate::runtime::decider::Decider;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refund {
    permit: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settle {
    permit: String,
    #[serde(deserialize_with = "whole")]
    cost: u64,
}

pub(crate) async fn refund<C: Clock>(decider: &Decider<C>, bytes: &[u8]) -> Result<Reply, Problem> {
    let Refund { permit } = json_body::parse(bytes)?;
    replace(decider, &permit, 0).await
}

pub(crate) async fn settle<C: Clock>(decider: &Decider<C>, bytes: &[u8]) -> Result<Reply, Problem> {
    let Settle { permit, cost } = json_body::parse(bytes)?;
    replace(decider, &permit, cost).await
}

async fn replace<C: Clock>(decider: &Decider<C>, permit: &str, cost: u64) -> Result<Reply, Problem> {
    let permit: Permit = permit.parse().map_err(refused)?;
    let report = decider.settle(&permit, cost).await.map_err(|error| match error {
        CallError::Permit(error) => refused(error),
        CallError::Store(error) => Problem::store(&error),
    })?;
    if report.outcome == SettleOutcome::AlreadySpent {
        let detail = "the permit is already spent; nothing changed";
        return Err(Problem::new(StatusCode::CONFLICT, detail).outcome(report.outcome.as_str()));
    }
    Ok(reply(StatusCode::OK, JSON, render(&report)))
}

#[derive(Serialize)]
struct SettleReply<'a> {
    outcome: &'static str,
    /// Outcome of each rule, where they differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<RulePart<'a>>,
}

#[derive(Serialize)]
struct RulePart<'a> {
    rule: Option<&'a str>,
    outcome: &'static str,
}

fn render(report: &SettlementReport) -> Vec<u8> {
    let differ = report.parts.iter().any(|part| part.outcome != report.outcome);
    let rules = report.parts.iter().filter(|_| differ);
    let rules = rules.map(|part| RulePart { rule: part.rule.as_deref(), outcome: part.outcome.as_str() });
    let body = SettleReply { outcome: report.outcome.as_str(), rules: rules.collect() };
    serde_json::to_vec(&body).expect("names are text")
}

/// Response to an invalid permit, whatever the reason.
fn refused(error: PermitError) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, error.to_string())
}
