//! `POST /v1/refund` and `POST /v1/settle`: what a permit stands for is given back, or corrected.

use hyper::StatusCode;
use hyper::header::HeaderValue;
use serde::Deserialize;
use slidegate::{CallError, Clock, Permit, PermitError, SettleOutcome};

use super::body;
use super::number::whole;
use super::problem::{Problem, Reply, reply};
use crate::app::App;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

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

pub(super) async fn refund<C: Clock>(app: &App<C>, bytes: &[u8]) -> Result<Reply, Problem> {
    let Refund { permit } = body::parse(bytes)?;
    replace(app, &permit, 0).await
}

pub(super) async fn settle<C: Clock>(app: &App<C>, bytes: &[u8]) -> Result<Reply, Problem> {
    let Settle { permit, cost } = body::parse(bytes)?;
    replace(app, &permit, cost).await
}

async fn replace<C: Clock>(app: &App<C>, permit: &str, cost: u64) -> Result<Reply, Problem> {
    let permit: Permit = permit.parse().map_err(refused)?;
    let outcome = app.settle(&permit, cost).await.map_err(|error| match error {
        CallError::Permit(error) => refused(error),
        CallError::Store(error) => Problem::store(&error),
    })?;
    let said = |body: &'static [u8]| Ok(reply(StatusCode::OK, JSON, body));
    let conflict = |outcome, detail| Err(Problem::new(StatusCode::CONFLICT, detail).outcome(outcome));
    match outcome {
        SettleOutcome::Settled => said(b"{\"outcome\":\"settled\"}"),
        SettleOutcome::Expired => said(b"{\"outcome\":\"expired\"}"),
        SettleOutcome::AlreadySpent => {
            conflict("already_spent", "this permit was used before; nothing was changed")
        }
        SettleOutcome::TooManySpent => conflict(
            "too_many_spent",
            "this key already has as many used permits as it may; nothing was changed",
        ),
    }
}

/// Whatever is wrong with it, it opens nothing.
fn refused(error: PermitError) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, error.to_string())
}
