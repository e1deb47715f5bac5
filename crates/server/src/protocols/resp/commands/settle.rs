//! `SG.REFUND permit` and `SG.SETTLE permit cost`: what a permit stands for is given back, or corrected.

use slidegate::{CallError, Clock, Permit};

use super::failure::Failure;
use super::number::unsigned;
use super::refused::Refused;
use super::{Command, Question};
use crate::protocols::resp::reply::Replies;
use crate::runtime::decider::Decider;

/// A permit, and what it really cost.
pub(in crate::protocols::resp) struct Settling {
    permit: Permit,
    cost: u64,
}

pub(super) fn refund<'i>(command: Command<'i, '_>) -> Result<Question<'i>, Refused> {
    read(command, 0)
}

pub(super) fn settle<'i>(command: Command<'i, '_>) -> Result<Question<'i>, Refused> {
    read(command, unsigned(command.argument(2))?)
}

fn read<'i>(command: Command<'i, '_>, cost: u64) -> Result<Question<'i>, Refused> {
    // What is not text is no permit either.
    let text = std::str::from_utf8(command.argument(1)).unwrap_or_default();
    let permit = text.parse().map_err(|error| Refused::from(format!("ERR {error}")))?;
    Ok(Question::Settle(Settling { permit, cost }))
}

pub(super) async fn answer<C: Clock>(
    decider: &Decider<C>,
    Settling { permit, cost }: Settling,
    replies: &mut Replies<'_>,
) -> Result<(), Failure> {
    let report = decider.settle(&permit, cost).await.map_err(|error| match error {
        CallError::Permit(error) => Failure::Refused(error.to_string()),
        CallError::Store(error) => Failure::Store(error),
    })?;
    replies.simple(report.outcome.as_str());
    Ok(())
}
