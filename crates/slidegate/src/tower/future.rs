//! Response of a limited service.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::http::Response;
use pin_project_lite::pin_project;

use super::body::LimitedBody;
use super::service::GateAdmission;

/// Decision and response, where a store has to be waited for.
type DecisionFuture<R, E> = Pin<Box<dyn Future<Output = Result<R, E>> + Send>>;

/// Admission of a request, which the response ends.
pub trait ResponseAdmission {
    /// Result of the service as that of the layer. An error ends the admission: there is no body
    /// that it could end with.
    fn finish<B, E>(self, result: Result<Response<B>, E>) -> Result<Response<LimitedBody<B>>, E>;
}

pin_project! {
    /// Future of a limited service. Dropping it ends the charge or slot of the request.
    pub struct ResponseFuture<F, R, E, A = GateAdmission> {
        #[pin]
        state: ResponseState<F, R, E, A>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum ResponseState<F, R, E, A> {
        Passed { #[pin] response: F, admission: Option<A> },
        Refused { response: Option<R> },
        Deciding { response: DecisionFuture<R, E> },
    }
}

impl<F, R, E, A> ResponseFuture<F, R, E, A> {
    pub(super) fn passed(response: F, admission: A) -> Self {
        Self { state: ResponseState::Passed { response, admission: Some(admission) } }
    }

    pub(super) fn refused(response: R) -> Self {
        Self { state: ResponseState::Refused { response: Some(response) } }
    }

    pub(super) fn deciding(response: impl Future<Output = Result<R, E>> + Send + 'static) -> Self {
        Self { state: ResponseState::Deciding { response: Box::pin(response) } }
    }
}

impl<F, R, E, A> std::fmt::Debug for ResponseFuture<F, R, E, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

impl<F, B, E, A> Future for ResponseFuture<F, Response<LimitedBody<B>>, E, A>
where
    F: Future<Output = Result<Response<B>, E>>,
    A: ResponseAdmission,
{
    type Output = Result<Response<LimitedBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        const TWICE: &str = "a future is not polled after it is ready";
        match self.project().state.project() {
            StateProjection::Passed { response, admission } => {
                let result = ready!(response.poll(context));
                Poll::Ready(admission.take().expect(TWICE).finish(result))
            }
            StateProjection::Refused { response } => Poll::Ready(Ok(response.take().expect(TWICE))),
            StateProjection::Deciding { response } => response.as_mut().poll(context),
        }
    }
}
