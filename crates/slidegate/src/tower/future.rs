//! Response of a limited service.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::http::Response;
use pin_project_lite::pin_project;

use super::body::LimitedBody;
use super::service::Admitted;

/// Decision and response, where a store has to be waited for.
type Deciding<R, E> = Pin<Box<dyn Future<Output = Result<R, E>> + Send>>;

pin_project! {
    /// Future of [`RateLimit`](super::RateLimit). Dropping it ends the charge of the request.
    pub struct ResponseFuture<F, R, E> {
        #[pin]
        state: State<F, R, E>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F, R, E> {
        Passed { #[pin] response: F, admitted: Option<Admitted> },
        Refused { response: Option<R> },
        Deciding { response: Deciding<R, E> },
    }
}

impl<F, R, E> ResponseFuture<F, R, E> {
    pub(super) fn passed(response: F, admitted: Admitted) -> Self {
        Self { state: State::Passed { response, admitted: Some(admitted) } }
    }

    pub(super) fn refused(response: R) -> Self {
        Self { state: State::Refused { response: Some(response) } }
    }

    pub(super) fn deciding(response: impl Future<Output = Result<R, E>> + Send + 'static) -> Self {
        Self { state: State::Deciding { response: Box::pin(response) } }
    }
}

impl<F, R, E> std::fmt::Debug for ResponseFuture<F, R, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

impl<F, B, E> Future for ResponseFuture<F, Response<LimitedBody<B>>, E>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<LimitedBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        const TWICE: &str = "a future is not polled after it is ready";
        match self.project().state.project() {
            StateProjection::Passed { response, admitted } => {
                let response = ready!(response.poll(context));
                // Also on an error: there is no body that the charge could end with.
                let admitted = admitted.take().expect(TWICE);
                Poll::Ready(response.map(|response| admit(response, admitted)))
            }
            StateProjection::Refused { response } => Poll::Ready(Ok(response.take().expect(TWICE))),
            StateProjection::Deciding { response } => response.as_mut().poll(context),
        }
    }
}

/// Response of an admitted request: with its header fields, and with its charge in the body.
pub(super) fn admit<B>(
    response: Response<B>,
    Admitted { fields, charge }: Admitted,
) -> Response<LimitedBody<B>> {
    let mut response = response.map(|body| LimitedBody::of_service(body, charge));
    fields.put_into(response.headers_mut());
    response
}
