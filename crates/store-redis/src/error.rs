//! Errors of a server, and whether the command may have run nevertheless.

/// Maximum number of limits of one call. Twice [`MAX_LIMITS`](slidegate_store::MAX_LIMITS), since
/// several rules of one request may have as many.
pub(super) const MAX_ITEMS: usize = 64;

/// Error of a call to Redis.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisError {
    /// There is no connection, and none can be made.
    #[error("cannot reach Redis: {0}")]
    Unreachable(String),
    /// The connection was lost while a request was under way.
    #[error("lost the connection to Redis: {0}")]
    Lost(String),
    /// No reply before the deadline.
    #[error("Redis did not reply within the timeout")]
    TimedOut,
    /// The circuit breaker of the server is open: it failed several times in a row.
    #[error("Redis failed repeatedly; the circuit breaker is open")]
    Open,
    /// The maximum number of requests is waiting for the server.
    #[error("too many requests are waiting for Redis; retry later")]
    Overloaded,
    /// The server answered with an error.
    #[error("Redis refused the command: {code} {text}")]
    Refused {
        /// First word of the error, such as `NOPERM`.
        code: String,
        /// The rest of it.
        text: String,
    },
    /// The request touches more limits than a script can decide; it was not sent.
    #[error("request has {0} limits, at most {MAX_ITEMS} are allowed")]
    TooManyLimits(usize),
    /// The reply of the server is not a decision.
    #[error("unexpected reply from Redis: {0}")]
    Protocol(String),
}

/// Kind of a [`RedisError`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum RedisErrorKind {
    /// [`RedisError::Unreachable`].
    Unreachable,
    /// [`RedisError::Lost`].
    Lost,
    /// [`RedisError::TimedOut`].
    TimedOut,
    /// [`RedisError::Open`].
    Open,
    /// [`RedisError::Overloaded`].
    Overloaded,
    /// [`RedisError::Refused`].
    Refused,
    /// [`RedisError::TooManyLimits`].
    TooManyLimits,
    /// [`RedisError::Protocol`].
    Protocol,
}

impl RedisErrorKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Unreachable,
        Self::Lost,
        Self::TimedOut,
        Self::Open,
        Self::Overloaded,
        Self::Refused,
        Self::TooManyLimits,
        Self::Protocol,
    ];

    /// Name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Lost => "lost",
            Self::TimedOut => "timed_out",
            Self::Open => "breaker_open",
            Self::Overloaded => "overloaded",
            Self::Refused => "refused",
            Self::TooManyLimits => "too_many_limits",
            Self::Protocol => "protocol",
        }
    }
}

impl RedisError {
    /// Kind of the error.
    pub fn kind(&self) -> RedisErrorKind {
        match self {
            Self::Unreachable(_) => RedisErrorKind::Unreachable,
            Self::Lost(_) => RedisErrorKind::Lost,
            Self::TimedOut => RedisErrorKind::TimedOut,
            Self::Open => RedisErrorKind::Open,
            Self::Overloaded => RedisErrorKind::Overloaded,
            Self::Refused { .. } => RedisErrorKind::Refused,
            Self::TooManyLimits(_) => RedisErrorKind::TooManyLimits,
            Self::Protocol(_) => RedisErrorKind::Protocol,
        }
    }

    /// True if it suggests an outage. An error that the server sent shows that it is alive.
    pub(super) fn is_outage(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Lost(_) | Self::TimedOut)
    }
}

/// Failure of a call. A call that may have run must never be sent again: it would be charged twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum CallFailure {
    /// The script certainly did not run.
    NotRun(RedisError),
    /// It may have run, or run in part.
    MayHaveRun(RedisError),
}

impl CallFailure {
    pub(super) fn error(&self) -> &RedisError {
        match self {
            Self::NotRun(error) | Self::MayHaveRun(error) => error,
        }
    }
}

impl From<CallFailure> for RedisError {
    fn from(failure: CallFailure) -> Self {
        match failure {
            CallFailure::NotRun(error) | CallFailure::MayHaveRun(error) => error,
        }
    }
}
