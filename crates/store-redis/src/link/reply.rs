//! Replies: a result, a reason to retry elsewhere or later, or a failure.

use redis::{ServerError, Value};

use super::endpoint::Address;
use crate::error::{CallFailure, RedisError};

/// Error of an attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum AttemptError {
    /// The call certainly did not run, and another attempt may help.
    Again {
        step: RetryStep,
        error: RedisError,
    },
    Failed(CallFailure),
}

/// Step before a retry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum RetryStep {
    /// Send the text: the server does not know the script.
    Text,
    /// Send to that node, now and from now on.
    Moved(Address),
    /// Send to that node, only this once.
    Ask(Address),
    /// Wait a little.
    Pause,
    /// The server is not a primary any more: find the new one.
    Demoted,
    /// Nothing reached the server: connect again, perhaps to another one.
    Reconnect,
    /// The Cluster cannot serve the slot: discover its slots again.
    Rediscover,
}

impl AttemptError {
    pub(super) fn error(&self) -> &RedisError {
        match self {
            Self::Again { error, .. } => error,
            Self::Failed(failure) => failure.error(),
        }
    }

    pub(super) fn into_failure(self) -> CallFailure {
        match self {
            Self::Again { error, .. } => CallFailure::NotRun(error),
            Self::Failed(failure) => failure,
        }
    }
}

impl From<CallFailure> for AttemptError {
    fn from(failure: CallFailure) -> Self {
        match failure {
            CallFailure::NotRun(error @ RedisError::Unreachable(_)) => {
                Self::Again { step: RetryStep::Reconnect, error }
            }
            other => Self::Failed(other),
        }
    }
}

/// Bytes of a reply. `sender` is the node that sent it.
pub(super) fn read(value: Value, sender: &Address) -> Result<Vec<u8>, AttemptError> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        Value::SimpleString(text) => Ok(text.into_bytes()),
        Value::Okay => Ok(b"OK".to_vec()),
        Value::ServerError(error) => Err(refusal(&error, sender)),
        other => Err(unexpected(format!("{other:?}"))),
    }
}

/// Splits a reply into the parts of `count` requests.
pub(super) fn split(reply: &[u8], record_bytes: usize, count: usize) -> Result<Vec<Vec<u8>>, AttemptError> {
    let expected = record_bytes * count;
    if reply.len() != expected {
        return Err(unexpected(format!("{} bytes instead of {expected}", reply.len())));
    }
    Ok(reply.chunks(record_bytes).map(<[u8]>::to_vec).collect())
}

/// Failure for an unexpected reply: the script answered, so it ran.
fn unexpected(what: String) -> AttemptError {
    AttemptError::Failed(CallFailure::MayHaveRun(RedisError::Protocol(what)))
}

fn refusal(error: &ServerError, sender: &Address) -> AttemptError {
    let text = error.details().unwrap_or_default();
    // Servers before 7.0 wrap the error of a script: "ERR Error running script …: -OOM …".
    let inner = text.split_once(": -").map(|(_, inner)| inner.split_once(' ').unwrap_or((inner, "")));
    let (code, text) = match inner {
        Some(inner) if raised_inside(text) => inner,
        _ => (error.code(), text),
    };
    let inside = raised_inside(error.details().unwrap_or_default());
    let refused = RedisError::Refused { code: code.to_owned(), text: text.to_owned() };
    match step(code, text, sender) {
        // These refuse the first write of a script, and cannot begin in the middle of one.
        Some(step) if !inside || code == "READONLY" => AttemptError::Again { step, error: refused },
        None if !inside || matches!(code, "OOM" | "NOREPLICAS" | "MISCONF") => {
            AttemptError::Failed(CallFailure::NotRun(refused))
        }
        _ => AttemptError::Failed(CallFailure::MayHaveRun(refused)),
    }
}

/// True if the error was raised while the script ran, possibly after a write.
fn raised_inside(text: &str) -> bool {
    text.contains("user_script")
}

fn step(code: &str, text: &str, sender: &Address) -> Option<RetryStep> {
    let target = || Address::redirect(text.split_ascii_whitespace().nth(1)?, sender);
    match code {
        "NOSCRIPT" => Some(RetryStep::Text),
        "MOVED" => Some(target().map_or(RetryStep::Rediscover, RetryStep::Moved)),
        "ASK" => Some(target().map_or(RetryStep::Rediscover, RetryStep::Ask)),
        "TRYAGAIN" | "LOADING" | "BUSY" => Some(RetryStep::Pause),
        "CLUSTERDOWN" | "MASTERDOWN" => Some(RetryStep::Rediscover),
        "READONLY" => Some(RetryStep::Demoted),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
