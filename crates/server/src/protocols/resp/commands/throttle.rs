//! `CL.THROTTLE key max_burst count period [quantity]`: compatible with redis-cell, errors
//! included.

use std::sync::LazyLock;
use std::time::Duration;

use slidegate::{Clock, Limit, LimitError, Outcome, Source, Space, Store, Verdict};

use super::command_error::{CommandError, head};
use super::limit::AdHoc;
use super::number::{digits, saturate};
use super::{Command, CommandContext, CommandOutcome, StoreCommand};
use crate::config::listener::Listener;
use crate::protocols::resp::recent_limit;
use crate::protocols::resp::reply::ReplyWriter;
use crate::runtime::decider::Decider;

/// Space of its keys, apart from others.
static THROTTLED: LazyLock<Space> = LazyLock::new(|| Space::named("CL.THROTTLE"));

const SECOND_MS: u64 = 1_000;
const NANOSECONDS: i128 = 1_000_000_000;
/// Maximum length of an argument in an error.
const MAX_ECHO_BYTES: usize = 128;

/// Makes the store decide denials of these keys again instead of caching them: a cached denial has
/// only the wait, and redis-cell returns more.
pub(crate) fn announce(store: &impl Store) {
    store.expect_refunds(*THROTTLED);
}

/// Answers synchronously where the store can.
#[inline]
pub(super) fn throttle<'i, C: Clock>(
    context: &mut CommandContext<'_, C>,
    command: Command<'i, '_>,
    out: &mut Vec<u8>,
) -> Result<CommandOutcome<'i>, CommandError> {
    if !context.settings.allows_ad_hoc_limits(Listener::Resp) {
        return Err(CommandError::AD_HOC_LIMITS_ARE_OFF);
    }
    if !matches!(command.len(), 5 | 6) {
        return Err(cell("Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]"));
    }
    let [max_burst, count, period] = [2, 3, 4].map(|index| integer(command.argument(index)));
    let (max_burst, count, period) = (max_burst?, count?, period?);
    let quantity = command.get(5).map_or(Ok(1), integer)?;
    if is_zero(count, period) {
        return Err(cell("Zero rates are not supported"));
    }
    // Here redis-cell runs a meter backwards.
    if count < 0 || period < 0 || quantity < 0 {
        return Err(cell("count, period and quantity must not be negative"));
    }
    let mut replies = ReplyWriter { out, protocol: context.session.protocol };
    if max_burst < 0 {
        return Ok(never(max_burst, quantity, &mut replies));
    }
    let [max_burst, count, period, quantity] = [max_burst, count, period, quantity].map(i64::unsigned_abs);
    let recent = &mut context.session.recent_meter;
    let limit =
        recent_limit::get_or_make(recent, [max_burst, count, period], || meter(max_burst, count, period));
    let limit = limit.map_err(CommandError::invalid)?;
    let key = command.argument(1);
    let space = *THROTTLED;
    let trace = context.decider.trace((Listener::Resp, "CL.THROTTLE"), None);
    if trace.is_none()
        && let Some(verdict) = context.decider.limit_now(space, key, limit, quantity)
    {
        write(&mut replies, limit, &verdict);
        return Ok(CommandOutcome::Replied);
    }
    let pending = AdHoc { space, key, limit: *limit, cost: quantity, trace };
    Ok(CommandOutcome::NeedsStore(Box::new(StoreCommand::Throttle(pending))))
}

/// Whether the interval of a unit is less than a nanosecond, the resolution of redis-cell.
#[inline]
fn is_zero(count: i64, period: i64) -> bool {
    count == 0 || period == 0 || i128::from(count).abs() > i128::from(period).abs() * NANOSECONDS
}

fn meter(max_burst: u64, count: u64, period_s: u64) -> Result<Limit, LimitError> {
    Limit::new(count, Duration::from_secs(period_s))?.gcra(max_burst.saturating_add(1))
}

/// Reply without any burst: nothing fits, and nothing is stored.
fn never<'i>(max_burst: i64, quantity: i64, replies: &mut ReplyWriter<'_>) -> CommandOutcome<'i> {
    let limited = max_burst < -1 || quantity > 0;
    replies.five([i64::from(limited), max_burst + 1, 0, -1, 0]);
    CommandOutcome::Replied
}

#[inline]
fn integer(argument: &[u8]) -> Result<i64, CommandError> {
    if let Some(number) = digits(argument).and_then(|number| i64::try_from(number).ok()) {
        return Ok(number);
    }
    let parsed = std::str::from_utf8(argument).ok().and_then(|text| text.parse().ok());
    parsed.ok_or_else(|| cell(&format!("Couldn't parse as integer: {}", head(argument, MAX_ECHO_BYTES))))
}

/// Error in the words of redis-cell.
#[cold]
fn cell(text: &str) -> CommandError {
    CommandError::from(format!("Cell error: {text}"))
}

pub(super) async fn answer<C: Clock>(
    decider: &Decider<C>,
    AdHoc { space, key, limit, cost, trace }: AdHoc<'_>,
    replies: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    let verdict = decider.limit(space, key, limit, cost, None, trace).await.map_err(CommandError::store)?;
    write(replies, &limit, &verdict);
    Ok(())
}

#[inline]
fn write(replies: &mut ReplyWriter<'_>, limit: &Limit, verdict: &Verdict) {
    let decision = verdict.decisions.first().copied().unwrap_or_default();
    let wait_ms = match decision.outcome {
        Outcome::Fits | Outcome::Never => None,
        Outcome::RetryAfter(ms) => Some(ms),
    };
    let (remaining, reset_after_ms) = match verdict.source {
        Source::Store | Source::Local => (decision.remaining, decision.reset_after_ms),
        // Without numbers at least the awaited units are in use.
        Source::Cache | Source::Assumed => (0, wait_ms.unwrap_or(0)),
    };
    replies.five([
        i64::from(!verdict.is_allowed()),
        saturate(limit.ceiling()),
        saturate(remaining),
        wait_ms.map_or(-1, seconds),
        seconds(reset_after_ms),
    ]);
}

/// Seconds, rounded up: a client that retries a moment early would be denied again.
fn seconds(ms: u64) -> i64 {
    saturate(ms.div_ceil(SECOND_MS))
}
