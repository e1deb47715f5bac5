//! Advice after a response: wait, then send the request again, or stop.
//!
//! The rules are in `vectors/README.md`, with a file of vectors that implementations in other
//! languages share.

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};

pub(crate) mod delay;
pub(crate) mod list;

/// Bound of the jitter, however many refusals came before.
const MAX_JITTER_MS: u64 = 60_000;
/// Least base of the jitter: a server that demands no delay, or a short one, has clients too.
const MIN_JITTER_MS: u64 = 1_000;

/// Settings of [`advice()`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetrySettings {
    /// Longest delay that a server may demand, 60 s by default. A longer one is a reason to stop:
    /// the caller of the client has given up by then. Jitter comes on top.
    pub max_wait_ms: u64,
    /// Number of times that a request is sent, the first one included. 5 by default.
    pub max_attempts: u32,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { max_wait_ms: 60_000, max_attempts: 5 }
    }
}

/// Request and its response, as far as the advice depends on them.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// Method of the request.
    pub method: &'a Method,
    /// Whether the request, with its body, can be sent again.
    pub is_replayable: bool,
    /// Status of the response.
    pub status: StatusCode,
    /// Headers of the response.
    pub headers: &'a HeaderMap,
    /// Number of refusals in a row before this response: 0 after the first attempt.
    pub attempt: u32,
    /// Time at which the response arrived, in Unix milliseconds.
    pub now_ms: u64,
}

/// Advice after a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// Send the request again after this wait.
    Wait(Backoff),
    /// Do not send the request again.
    Stop(Stop),
}

/// Backoff before the next attempt: a delay and a random part of the jitter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backoff {
    /// Delay that the server demands; 0 if it demands none. No wait is shorter.
    pub delay_ms: u64,
    /// Largest jitter. The jitter of a wait is a whole number of milliseconds from 0 to this, all
    /// equally likely.
    pub jitter_ms: u64,
}

impl Backoff {
    /// Backoff after a delay and a number of refusals before it.
    pub(crate) fn after(delay_ms: u64, attempt: u32) -> Self {
        // No factor fits beyond 63 doublings; the bound of the jitter is reached long before.
        let factor = 1_u64.checked_shl(attempt).unwrap_or(u64::MAX);
        let jitter_ms = delay_ms.max(MIN_JITTER_MS).saturating_mul(factor).min(MAX_JITTER_MS);
        Self { delay_ms, jitter_ms }
    }

    /// Wait with the jitter that follows from a random number of 64 bits.
    pub fn duration(&self, random: u64) -> Duration {
        Duration::from_millis(self.delay_ms.saturating_add(self.jitter_ms_of(random)))
    }

    /// Jitter that follows from a random number.
    pub(crate) fn jitter_ms_of(&self, random: u64) -> u64 {
        // The upper half of the product is fairer than the remainder of a division.
        ((u128::from(random) * (u128::from(self.jitter_ms) + 1)) >> 64) as u64
    }
}

/// Reason not to send a request again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Stop {
    /// The status is neither 429 nor 503.
    NotRefused,
    /// The body cannot be sent again.
    NotReplayable,
    /// The server is unavailable (503), and the method is not idempotent: the request may have
    /// taken effect.
    NotIdempotent,
    /// The server is unavailable (503) and does not say for how long.
    NoRetryAfter,
    /// The request was sent [`RetrySettings::max_attempts`] times.
    AttemptsExhausted,
    /// The server demands a delay above [`RetrySettings::max_wait_ms`].
    WaitTooLong,
    /// The origin had as many retries as its [budget](crate::RetryBudget) allows. Not a result of
    /// [`advice()`], which knows one request only.
    BudgetExhausted,
}

impl Stop {
    /// Name of the reason, as in the vectors.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotRefused => "not_refused",
            Self::NotReplayable => "not_replayable",
            Self::NotIdempotent => "not_idempotent",
            Self::NoRetryAfter => "no_retry_after",
            Self::AttemptsExhausted => "attempts_exhausted",
            Self::WaitTooLong => "wait_too_long",
            Self::BudgetExhausted => "budget_exhausted",
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Advice after a response: for how long to wait before the request is sent again, or why not to.
pub fn advice(exchange: &Exchange<'_>, settings: &RetrySettings) -> Advice {
    match wait(exchange, settings) {
        Ok(wait) => Advice::Wait(wait),
        Err(stop) => Advice::Stop(stop),
    }
}

fn wait(exchange: &Exchange<'_>, settings: &RetrySettings) -> Result<Backoff, Stop> {
    let &Exchange { method, is_replayable, status, headers, attempt, now_ms } = exchange;
    let is_unavailable = status == StatusCode::SERVICE_UNAVAILABLE;
    if status != StatusCode::TOO_MANY_REQUESTS && !is_unavailable {
        return Err(Stop::NotRefused);
    }
    if !is_replayable {
        return Err(Stop::NotReplayable);
    }
    if is_unavailable && !is_idempotent(method) {
        return Err(Stop::NotIdempotent);
    }
    let delay_ms = delay::demand_ms(status, headers, now_ms).ok_or(Stop::NoRetryAfter)?;
    if attempt.saturating_add(1) >= settings.max_attempts {
        return Err(Stop::AttemptsExhausted);
    }
    if delay_ms > settings.max_wait_ms {
        return Err(Stop::WaitTooLong);
    }
    Ok(Backoff::after(delay_ms, attempt))
}

/// Whether a request has the same effect once and several times. `QUERY` is younger than
/// `Method::is_idempotent` in some versions of its crate.
fn is_idempotent(method: &Method) -> bool {
    matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY" | "PUT" | "DELETE")
}
