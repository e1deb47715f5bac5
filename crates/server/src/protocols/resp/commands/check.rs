//! `SG.CHECK cost attribute value [attribute value …] [PERMIT]`: decides a request, given by its
//! attributes, by the rules of the policy.

use slidegate::{Answer, CheckRequest, Clock, MAX_ATTRIBUTES, Request, RequestError, Summary};

use super::command_error::{CommandError, head};
use super::number::{saturate, unsigned};
use super::{Command, CommandContext, CommandOutcome, StoreCommand};
use crate::config::listener::Listener;
use crate::protocols::resp::reply::ReplyWriter;
use crate::runtime::decider::Decider;
use crate::telemetry::otlp::Trace;

/// Reply for a number that does not exist.
const NONE: i64 = -1;
/// Maximum length of an attribute's name in an error.
const MAX_ECHO_BYTES: usize = 128;

/// Request with the shape of its reply.
pub(in crate::protocols::resp) struct Check<'i> {
    request: CheckRequest<'i>,
    shape: ReplyShape,
    trace: Trace,
}

/// Shape of a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ReplyShape {
    Numbers,
    /// Numbers and the permit.
    WithPermit,
}

/// Answers synchronously where the store can.
#[inline]
pub(super) fn check<'i, C: Clock>(
    context: &mut CommandContext<'_, C>,
    command: Command<'i, '_>,
    out: &mut Vec<u8>,
) -> Result<CommandOutcome<'i>, CommandError> {
    // Filled in place, because it is large.
    let mut request = Request::new();
    let shape = read(command, &mut request)?;
    let mut replies = context.replies(out);
    let trace = context.decider.trace((Listener::Resp, "SG.CHECK"), None);
    if trace.is_none() {
        // By reference: an answer is large.
        match &context.decider.check_now(&request) {
            Ok(Some(answer)) => {
                write(&mut replies, context.decider, answer, shape);
                return Ok(CommandOutcome::Replied);
            }
            Ok(None) => {}
            Err(error) => return Err(CommandError::from(error)),
        }
    }
    Ok(CommandOutcome::NeedsStore(Box::new(StoreCommand::Check(Check {
        request: CheckRequest::from(request),
        shape,
        trace,
    }))))
}

#[inline]
fn read<'i>(command: Command<'i, '_>, request: &mut Request<'i>) -> Result<ReplyShape, CommandError> {
    request.set_cost(unsigned(command.argument(1))?);
    // Attributes come in pairs: one word more is the option.
    let (end, shape) = match command.len() {
        even if even % 2 == 0 => (even, ReplyShape::Numbers),
        odd if odd > 4 && command.is(odd - 1, "PERMIT") => (odd - 1, ReplyShape::WithPermit),
        _ => return Err(CommandError::SYNTAX),
    };
    let attributes = (end - 2) / 2;
    if attributes > MAX_ATTRIBUTES {
        return Err(CommandError::invalid(RequestError::TooManyAttributes { attributes }));
    }
    let texts = command.texts();
    for index in (2..end).step_by(2) {
        let name = texts.get(index).ok_or_else(|| CommandError::from(NOT_TEXT))?;
        let value = texts.get(index + 1).ok_or_else(|| not_text(name))?;
        if request.get(name).is_some() {
            return Err(twice(name));
        }
        request.set(name, value);
    }
    request.check().map_err(CommandError::invalid)?;
    Ok(shape)
}

const NOT_TEXT: &str = "ERR the name of an attribute is not UTF-8";

#[cold]
fn not_text(name: &str) -> CommandError {
    CommandError::from(format!(
        "ERR the value of the attribute '{}' is not UTF-8",
        head(name.as_bytes(), MAX_ECHO_BYTES)
    ))
}

#[cold]
fn twice(name: &str) -> CommandError {
    CommandError::from(format!(
        "ERR the attribute '{}' is given twice",
        head(name.as_bytes(), MAX_ECHO_BYTES)
    ))
}

pub(super) async fn answer<C: Clock>(
    decider: &Decider<C>,
    Check { request, shape, trace }: Check<'_>,
    replies: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    write(replies, decider, &decider.check(&request, trace).await?, shape);
    Ok(())
}

#[inline]
fn write<C: Clock>(replies: &mut ReplyWriter<'_>, decider: &Decider<C>, answer: &Answer, shape: ReplyShape) {
    let numbers = numbers(answer.is_allowed(), &answer.summary());
    match shape {
        ReplyShape::Numbers => replies.five(numbers),
        ReplyShape::WithPermit => {
            replies.array(6);
            numbers.into_iter().for_each(|number| replies.integer(number));
            match decider.gate().permit(answer) {
                Some(permit) => replies.bulk(permit.to_string().as_bytes()),
                None => replies.nothing(),
            }
        }
    }
}

/// Allowed, and the numbers of the request: quota, remaining, wait and reset.
#[inline]
pub(super) fn numbers(allowed: bool, summary: &Summary) -> [i64; 5] {
    let wait_ms = if allowed { 0 } else { summary.wait.exact_ms().map_or(NONE, saturate) };
    // Without limits nothing was charged.
    let unlimited = if summary.tightest.is_none() { 0 } else { NONE };
    [
        i64::from(allowed),
        summary.quota.map_or(NONE, saturate),
        summary.remaining.map_or(NONE, saturate),
        wait_ms,
        summary.reset_after_ms.map_or(unlimited, saturate),
    ]
}
