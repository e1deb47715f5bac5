//! What is asked of a gate, and why there may be no answer.

use std::borrow::Cow;
use std::time::Duration;

use slidegate_policy::{Request, RequestError};

/// A request, and how it is to be answered.
#[derive(Clone, Debug)]
pub struct CheckRequest<'a> {
    /// What is asked.
    pub request: Request<'a>,
    /// Under which key its sender may send it again; it is then charged once.
    pub idempotency_key: Option<Cow<'a, str>>,
    /// How long it may be held for its turn instead of being refused.
    pub wait: Duration,
}

impl<'a> From<Request<'a>> for CheckRequest<'a> {
    fn from(request: Request<'a>) -> Self {
        Self { request, idempotency_key: None, wait: Duration::ZERO }
    }
}

/// Why there is no answer.
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
        "no room to remember another idempotency key: nothing was decided or split_charges; try again in a minute, or without one"
    )]
    Full,
    /// A subject has as many open permits as it may: nothing was charged.
    #[error("{}", crate::PermitError::TooManyOpen)]
    TooManyPermits,
    /// The store did not answer.
    #[error("the store failed: {0}")]
    Store(#[source] E),
}
