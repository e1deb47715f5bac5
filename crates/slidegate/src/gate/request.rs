//! Request to a gate, and its errors.

use std::borrow::Cow;
use std::time::Duration;

use slidegate_core::{Source, Verdict};
use slidegate_policy::{Request, RequestError};

/// Request to a gate, with its options.
#[derive(Clone, Debug)]
pub struct CheckRequest<'a> {
    /// Attributes and cost.
    pub request: Request<'a>,
    /// Key under which the sender may repeat the request; it is charged once.
    pub idempotency_key: Option<Cow<'a, str>>,
    /// Maximum wait for admission, instead of a denial.
    pub wait: Duration,
}

impl<'a> From<Request<'a>> for CheckRequest<'a> {
    fn from(request: Request<'a>) -> Self {
        Self { request, idempotency_key: None, wait: Duration::ZERO }
    }
}

/// Error of a gate.
#[derive(Debug, thiserror::Error)]
pub enum GateError<E> {
    /// The request has to be changed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The idempotency key was used for something else.
    #[error(
        "this idempotency key was used for a request with other charges: use a new one for every request"
    )]
    Conflict,
    /// There is no room to remember another idempotency key.
    #[error(
        "no room to remember another idempotency key: nothing was decided or charged; retry in a minute, or without a key"
    )]
    Full,
    /// A subject has as many open permits as it may: nothing was charged.
    #[error("{}", crate::PermitError::TooManyOpen)]
    TooManyPermits {
        /// What decided so.
        decided_by: Source,
        /// Time of the decision.
        decided_at_ms: u64,
    },
    /// The store did not answer.
    #[error("the store failed: {0}")]
    Store(#[source] E),
}

impl<E> GateError<E> {
    /// Refusal of a request that would get a permit beyond the maximum.
    pub(super) fn too_many_permits(verdict: &Verdict) -> Self {
        Self::TooManyPermits { decided_by: verdict.source, decided_at_ms: verdict.decided_at_ms }
    }
}
