//! `SG.LIMIT key quota window_ms [cost] [LOG|COUNTER|FIXED]`: decides by an ad hoc limit, without a
//! policy.

use std::time::Duration;

use slidegate::{Clock, Limit, MAX_VALUE_BYTES, Space, Summary, Verdict};

use super::check::numbers;
use super::command_error::CommandError;
use super::number::unsigned;
use super::{Command, CommandContext, CommandOutcome, StoreCommand};
use crate::config::listener::Listener;
use crate::protocols::ad_hoc_limit::AdHocAlgorithm;
use crate::protocols::resp::recent_limit;
use crate::protocols::resp::reply::ReplyWriter;
use crate::runtime::decider::Decider;
use crate::telemetry::otlp::Trace;

/// Ad hoc limit with its key and cost.
pub(in crate::protocols::resp) struct AdHoc<'i> {
    pub(super) space: Space,
    pub(super) key: &'i [u8],
    pub(super) limit: Limit,
    pub(super) cost: u64,
    pub(super) trace: Trace,
}

/// Answers synchronously where the store can.
#[inline]
pub(super) fn limit<'i, C: Clock>(
    context: &mut CommandContext<'_, C>,
    command: Command<'i, '_>,
    out: &mut Vec<u8>,
) -> Result<CommandOutcome<'i>, CommandError> {
    if !context.settings.allows_ad_hoc_limits(Listener::Resp) {
        return Err(CommandError::AD_HOC_LIMITS_ARE_OFF);
    }
    let key = command.argument(1);
    if key.is_empty() || key.len() > MAX_VALUE_BYTES {
        return Err(CommandError::from(format!("ERR a key has 1 to {MAX_VALUE_BYTES} bytes")));
    }
    let (quota, window_ms) = (unsigned(command.argument(2))?, unsigned(command.argument(3))?);
    let algorithm = command.get(command.len() - 1).filter(|_| command.len() > 4).and_then(algorithm);
    let cost = match (command.len(), algorithm) {
        (4, _) | (5, Some(_)) => 1,
        (5, None) | (6, Some(_)) => unsigned(command.argument(4))?,
        _ => return Err(CommandError::SYNTAX),
    };
    let algorithm = algorithm.unwrap_or_default();
    let mut replies = ReplyWriter { out, protocol: context.session.protocol };
    let recent = &mut context.session.recent_limit;
    let limit = recent_limit::get_or_make(recent, [algorithm as u64, quota, window_ms], || {
        algorithm.limit(quota, Duration::from_millis(window_ms), None)
    });
    let limit = limit.map_err(CommandError::invalid)?;
    let space = context.decider.gate().ad_hoc();
    let trace = context.decider.trace((Listener::Resp, "SG.LIMIT"), None);
    if trace.is_none()
        && let Some(verdict) = context.decider.limit_now(space, key, limit, cost)
    {
        write(&mut replies, limit, &verdict);
        return Ok(CommandOutcome::Replied);
    }
    Ok(CommandOutcome::NeedsStore(Box::new(StoreCommand::Limit(AdHoc {
        space,
        key,
        limit: *limit,
        cost,
        trace,
    }))))
}

fn algorithm(word: &[u8]) -> Option<AdHocAlgorithm> {
    use AdHocAlgorithm::{Counter, Fixed, Log};
    let all = [("LOG", Log), ("COUNTER", Counter), ("FIXED", Fixed)];
    let found = all.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
    found.map(|(_, algorithm)| algorithm)
}

pub(super) async fn answer<C: Clock>(
    decider: &Decider<C>,
    AdHoc { space, key, limit, cost, trace }: AdHoc<'_>,
    replies: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    let verdict = decider.limit(space, key, limit, cost, None, trace).await.map_err(CommandError::store)?;
    write(replies, &decider.gate().decisive(&limit, verdict.source), &verdict);
    Ok(())
}

#[inline]
fn write(replies: &mut ReplyWriter<'_>, limit: &Limit, verdict: &Verdict) {
    let summary = Summary::new(verdict.source, std::iter::zip([limit], &*verdict.decisions));
    replies.five(numbers(verdict.is_allowed(), &summary));
}
