//! What a command asks the store, and how it is answered.

use slidegate::{Clock, GateError, RequestError, Store};

use super::check;
use super::check::Check;
use super::limit;
use super::limit::AdHoc;
use super::settle;
use super::settle::Settling;
use super::throttle;
use crate::protocols::resp::reply::Replies;
use crate::runtime::app::App;
use crate::runtime::backend::Backend;

type StoreError = <Backend as Store>::Error;

/// What a command asks the store.
// It is in a box itself.
#[allow(clippy::large_enum_variant)]
pub(in crate::protocols::resp) enum Question<'i> {
    Check(Check<'i>),
    Limit(AdHoc<'i>),
    Throttle(AdHoc<'i>),
    Settle(Settling),
}

impl Question<'_> {
    /// Asks, and writes the reply.
    pub(in crate::protocols::resp) async fn answer<C: Clock>(self, app: &App<C>, mut replies: Replies<'_>) {
        let failure = match self {
            Self::Check(asked) => check::answer(app, asked, &mut replies).await,
            Self::Limit(asked) => limit::answer(app, asked, &mut replies).await,
            Self::Throttle(asked) => throttle::answer(app, asked, &mut replies).await,
            Self::Settle(asked) => settle::answer(app, asked, &mut replies).await,
        };
        if let Err(failure) = failure {
            replies.error(&failure.text());
        }
    }
}

/// Why there is no answer.
pub(super) enum Failure {
    /// The command has to be changed.
    Request(RequestError),
    /// What it says has to be changed.
    Refused(String),
    /// The store did not answer, and nothing can take its place.
    Store(StoreError),
}

impl Failure {
    #[cold]
    fn text(&self) -> String {
        match self {
            Self::Request(error) => format!("ERR {error}"),
            Self::Refused(text) => format!("ERR {text}"),
            Self::Store(error) => format!("UNAVAILABLE the store does not answer, try again: {error}"),
        }
    }
}

impl From<GateError<StoreError>> for Failure {
    fn from(error: GateError<StoreError>) -> Self {
        match error {
            GateError::Request(error) => Self::Request(error),
            GateError::Conflict | GateError::Full | GateError::TooManyPermits => {
                Self::Refused(error.to_string())
            }
            GateError::Store(error) => Self::Store(error),
        }
    }
}
