//! `SG.REFUND permit` and `SG.SETTLE permit cost`: what a permit stands for is given back, or corrected.

use slidegate::{CallError, Clock, Permit, PermitError};

use super::command_error::CommandError;
use super::number::unsigned;
use super::{Command, StoreCommand};
use crate::protocols::resp::reply::ReplyWriter;
use crate::runtime::decider::Decider;

/// A permit, and what it really cost.
pub(in crate::protocols::resp) struct Settling {
    permit: Permit,
    cost: u64,
}

pub(super) fn refund<'i>(command: Command<'i, '_>) -> Result<StoreCommand<'i>, CommandError> {
    read(command, 0)
}

pub(super) fn settle<'i>(command: Command<'i, '_>) -> Result<StoreCommand<'i>, CommandError> {
    read(command, unsigned(command.argument(2))?)
}

fn read<'i>(command: Command<'i, '_>, cost: u64) -> Result<StoreCommand<'i>, CommandError> {
    // What is not text is no permit either.
    let text = std::str::from_utf8(command.argument(1)).unwrap_or_default();
    let permit = text.parse().map_err(CommandError::invalid::<PermitError>)?;
    Ok(StoreCommand::Settle(Settling { permit, cost }))
}

pub(super) async fn answer<C: Clock>(
    decider: &Decider<C>,
    Settling { permit, cost }: Settling,
    replies: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    let report = decider.settle(&permit, cost).await.map_err(|error| match error {
        CallError::Permit(error) => CommandError::invalid(error),
        CallError::Store(error) => CommandError::store(error),
    })?;
    replies.simple(report.outcome.as_str());
    Ok(())
}
