//! `SG.REFUND permit` and `SG.SETTLE permit cost`: refunds a permit, or settles it at its actual
//! cost.

use slidegate::{CallError, Clock, Permit, PermitError};

use super::command_error::CommandError;
use super::number::unsigned;
use super::{Command, CommandOutcome, StoreCommand};
use crate::protocols::resp::reply::ReplyWriter;
use crate::runtime::decider::Decider;

/// Permit with its actual cost.
pub(in crate::protocols::resp) struct SettleCommand {
    permit: Permit,
    cost: u64,
}

pub(super) fn refund<'i>(command: Command<'i, '_>) -> Result<CommandOutcome<'i>, CommandError> {
    read(command, 0)
}

pub(super) fn settle<'i>(command: Command<'i, '_>) -> Result<CommandOutcome<'i>, CommandError> {
    read(command, unsigned(command.argument(2))?)
}

fn read<'i>(command: Command<'i, '_>, cost: u64) -> Result<CommandOutcome<'i>, CommandError> {
    // Invalid UTF-8 is an invalid permit.
    let text = std::str::from_utf8(command.argument(1)).unwrap_or_default();
    let permit = text.parse().map_err(CommandError::invalid::<PermitError>)?;
    Ok(CommandOutcome::NeedsStore(Box::new(StoreCommand::Settle(SettleCommand { permit, cost }))))
}

pub(super) async fn answer<C: Clock>(
    decider: &Decider<C>,
    SettleCommand { permit, cost }: SettleCommand,
    replies: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    let report = decider.settle(&permit, cost).await.map_err(|error| match error {
        CallError::Permit(error) => CommandError::invalid(error),
        CallError::Store(error) => CommandError::store(error),
    })?;
    replies.simple(report.outcome.as_str());
    Ok(())
}
