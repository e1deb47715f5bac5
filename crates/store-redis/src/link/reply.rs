//! Replies: a result, a reason to retry elsewhere or later, or a failure.

use redis::{ServerError, Value};

use super::endpoint::Address;
use crate::error::{CallFailure, RedisError};

/// Error of an attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum AttemptError {
    /// The call surely did not run, and another attempt may help.
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
    /// Ask that node, now and from now on.
    Moved(Address),
    /// Ask that node, just this once.
    Ask(Address),
    /// Wait a little.
    Pause,
    /// The server is no primary any more: look for the new one.
    Demoted,
    /// Nothing reached the server: look whether it is still the right one.
    Reconnect,
    /// The Cluster cannot serve the slot: look how it has changed.
    Reshape,
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

/// The bytes of a reply. `sender` is who sent it.
pub(super) fn read(value: Value, sender: &Address) -> Result<Vec<u8>, AttemptError> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        Value::SimpleString(text) => Ok(text.into_bytes()),
        Value::Okay => Ok(b"OK".to_vec()),
        Value::ServerError(error) => Err(refusal(&error, sender)),
        other => Err(unexpected(format!("{other:?}"))),
    }
}

/// Cuts a reply into what belongs to each of `count` requests.
pub(super) fn split(reply: &[u8], record_bytes: usize, count: usize) -> Result<Vec<Vec<u8>>, AttemptError> {
    let expected = record_bytes * count;
    if reply.len() != expected {
        return Err(unexpected(format!("{} bytes instead of {expected}", reply.len())));
    }
    Ok(reply.chunks(record_bytes).map(<[u8]>::to_vec).collect())
}

/// The script answered, so it ran, whatever it was that it said.
fn unexpected(what: String) -> AttemptError {
    AttemptError::Failed(CallFailure::MayHaveRun(RedisError::Protocol(what)))
}

fn refusal(error: &ServerError, sender: &Address) -> AttemptError {
    let text = error.details().unwrap_or_default();
    // Servers before 7.0 put what a script ran into behind words of their own: "ERR Error running
    // script …: -OOM …".
    let inner = text.split_once(": -").map(|(_, inner)| inner.split_once(' ').unwrap_or((inner, "")));
    let (code, text) = match inner {
        Some(inner) if raised_inside(text) => inner,
        _ => (error.code(), text),
    };
    let inside = raised_inside(error.details().unwrap_or_default());
    let refused = RedisError::Refused { code: code.to_owned(), text: text.to_owned() };
    match step(code, text, sender) {
        // These refuse the first write of a script, and cannot begin to in the middle of one.
        Some(step) if !inside || code == "READONLY" => AttemptError::Again { step, error: refused },
        None if !inside || matches!(code, "OOM" | "NOREPLICAS" | "MISCONF") => {
            AttemptError::Failed(CallFailure::NotRun(refused))
        }
        _ => AttemptError::Failed(CallFailure::MayHaveRun(refused)),
    }
}

/// Whether the error was raised while the script ran, possibly after a write.
fn raised_inside(text: &str) -> bool {
    text.contains("user_script")
}

fn step(code: &str, text: &str, sender: &Address) -> Option<RetryStep> {
    let target = || Address::redirect(text.split_ascii_whitespace().nth(1)?, sender);
    match code {
        "NOSCRIPT" => Some(RetryStep::Text),
        "MOVED" => Some(target().map_or(RetryStep::Reshape, RetryStep::Moved)),
        "ASK" => Some(target().map_or(RetryStep::Reshape, RetryStep::Ask)),
        "TRYAGAIN" | "LOADING" | "BUSY" => Some(RetryStep::Pause),
        "CLUSTERDOWN" | "MASTERDOWN" => Some(RetryStep::Reshape),
        "READONLY" => Some(RetryStep::Demoted),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
