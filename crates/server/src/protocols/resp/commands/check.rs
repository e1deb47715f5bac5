//! `SG.CHECK cost attribute value [attribute value …] [PERMIT]`: a request by its attributes, against the rules of the policy.

use slidegate::{Ask, AtOnce, Clock, MAX_ATTRIBUTES, Request, RequestError, Summary};

use super::failure::Failure;
use super::number::{shown, unsigned};
use super::refused::{Refused, head};
use super::{Command, Desk, Handled, Question};
use crate::config::listener::Listener;
use crate::protocols::resp::reply::Replies;
use crate::runtime::decider::Decider;
use crate::telemetry::otlp::Trace;

/// What is told instead of a number where there is none.
const NONE: i64 = -1;
/// How much of an attribute's name is told back.
const SHOWN_BYTES: usize = 128;

/// A request, and what is to be told of it.
pub(in crate::protocols::resp) struct Check<'i> {
    ask: Ask<'i>,
    told: Told,
    trace: Trace,
}

/// What is told of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    Numbers,
    /// And what gives the charge back.
    NumbersAndPermit,
}

/// Answers at once where that can be.
#[inline]
pub(super) fn check<'i, C: Clock>(
    desk: &mut Desk<'_, C>,
    command: Command<'i, '_>,
    out: &mut Vec<u8>,
) -> Result<Handled<'i>, Refused> {
    // Filled where it is: it is large.
    let mut request = Request::new();
    let told = read(command, &mut request)?;
    let mut replies = desk.replies(out);
    let trace = desk.decider.trace((Listener::Resp, "SG.CHECK"), None);
    if trace.is_none() {
        let said = desk.decider.check_now(&request, |answer| write_at_once(&mut replies, answer, told));
        if said.map_err(|error| wrong(&error))?.is_some() {
            return Ok(Handled::Said);
        }
    }
    Ok(Handled::Asks(Box::new(Question::Check(Check { ask: Ask::from(request), told, trace }))))
}

#[inline]
fn read<'i>(command: Command<'i, '_>, request: &mut Request<'i>) -> Result<Told, Refused> {
    request.set_cost(unsigned(command.argument(1))?);
    // Attributes come in pairs: one word more is the option.
    let (end, told) = match command.len() {
        even if even % 2 == 0 => (even, Told::Numbers),
        odd if odd > 4 && command.is(odd - 1, "PERMIT") => (odd - 1, Told::NumbersAndPermit),
        _ => return Err(Refused::SYNTAX),
    };
    let attributes = (end - 2) / 2;
    if attributes > MAX_ATTRIBUTES {
        return Err(wrong(&RequestError::TooManyAttributes { attributes }));
    }
    let texts = command.texts();
    for index in (2..end).step_by(2) {
        let name = texts.get(index).ok_or_else(|| Refused::from(NOT_TEXT))?;
        let value = texts.get(index + 1).ok_or_else(|| not_text(name))?;
        if request.get(name).is_some() {
            return Err(twice(name));
        }
        request.set(name, value);
    }
    request.check().map_err(|error| wrong(&error))?;
    Ok(told)
}

const NOT_TEXT: &str = "ERR the name of an attribute is not UTF-8";

#[cold]
fn not_text(name: &str) -> Refused {
    Refused::from(format!(
        "ERR the value of the attribute '{}' is not UTF-8",
        head(name.as_bytes(), SHOWN_BYTES)
    ))
}

#[cold]
fn twice(name: &str) -> Refused {
    Refused::from(format!("ERR the attribute '{}' is given twice", head(name.as_bytes(), SHOWN_BYTES)))
}

#[cold]
fn wrong(error: &RequestError) -> Refused {
    Refused::from(format!("ERR {error}"))
}

pub(super) async fn answer<C: Clock>(
    decider: &Decider<C>,
    Check { ask, told, trace }: Check<'_>,
    replies: &mut Replies<'_>,
) -> Result<(), Failure> {
    let answer = decider.check(&ask, trace).await?;
    replies.array(match told {
        Told::Numbers => 5,
        Told::NumbersAndPermit => 6,
    });
    numbers(answer.is_allowed(), &answer.summary()).into_iter().for_each(|number| replies.integer(number));
    if told == Told::NumbersAndPermit {
        match answer.permit() {
            Some(permit) => replies.bulk(permit.to_string().as_bytes()),
            None => replies.nothing(),
        }
    }
    Ok(())
}

/// There is nothing to give back: such requests are answered otherwise.
#[inline]
fn write_at_once(replies: &mut Replies<'_>, answer: AtOnce<'_>, told: Told) {
    let numbers = numbers(answer.is_allowed(), &answer.summary());
    match told {
        Told::Numbers => replies.five(numbers),
        Told::NumbersAndPermit => {
            replies.array(6);
            numbers.into_iter().for_each(|number| replies.integer(number));
            replies.nothing();
        }
    }
}

/// Allowed, and the numbers of the request: quota, remaining, wait and reset.
#[inline]
pub(super) fn numbers(allowed: bool, summary: &Summary) -> [i64; 5] {
    let wait_ms = if allowed { 0 } else { summary.wait.exact_ms().map_or(NONE, shown) };
    // Without limits everything is as if nothing had been asked.
    let unlimited = if summary.tightest.is_none() { 0 } else { NONE };
    [
        i64::from(allowed),
        summary.quota.map_or(NONE, shown),
        summary.remaining.map_or(NONE, shown),
        wait_ms,
        summary.reset_after_ms.map_or(unlimited, shown),
    ]
}
