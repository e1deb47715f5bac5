//! Service that decides requests before it passes them on.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use ::http::request::Parts;
use ::http::{Request, Response};
use bytes::Bytes;
use http_body::Body;
use tokio::sync::oneshot;
use tower_service::Service;

use super::body::{LimitedBody, ResponseGuard};
use super::charge_handle::{ChargeHandle, GateCharge, OpenCharge};
use super::future::{ResponseAdmission, ResponseFuture};
use super::layer::{LayerOptions, RateLimitLayer};
use super::refusal::{Refusal, respond};
use crate::clock::{Clock, SystemClock};
use crate::gate::{Answer, CheckRequest, Gate, GateError, WaitFlag};
use crate::http::HeaderFields;
use slidegate_policy::{BuiltIns, RequestAddress};
use slidegate_store::{Memory, SyncStore, random};

/// Limited service. [`RateLimitLayer`] creates it.
pub struct RateLimitService<T, S = Memory, C = SystemClock> {
    inner: T,
    layer: RateLimitLayer<S, C>,
}

/// For a policy that may be replaced before the decision.
const ALL_BUILT_INS: BuiltIns = BuiltIns { method: true, path: true, host: true };

/// Decision of a layer.
enum LayerDecision {
    Admitted(GateAdmission),
    Refused(Response<Bytes>),
}

/// Admission of a request by a gate: header fields of its response, and its charge.
#[derive(Debug)]
pub struct GateAdmission {
    fields: HeaderFields,
    charge: Option<Arc<dyn OpenCharge>>,
}

impl ResponseAdmission for GateAdmission {
    fn finish<B, E>(self, result: Result<Response<B>, E>) -> Result<Response<LimitedBody<B>>, E> {
        result.map(|response| {
            let guard = self.charge.map(|charge| charge as Arc<dyn ResponseGuard>);
            let mut response = response.map(|body| LimitedBody::of_service(body, guard));
            self.fields.put_into(response.headers_mut());
            response
        })
    }
}

impl<T, S, C> RateLimitService<T, S, C> {
    pub(super) fn new(inner: T, layer: RateLimitLayer<S, C>) -> Self {
        Self { inner, layer }
    }

    /// The service itself.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }
}

impl<T: Clone, S, C> Clone for RateLimitService<T, S, C> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<T: std::fmt::Debug, S, C> std::fmt::Debug for RateLimitService<T, S, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateLimitService").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<T, S, C, RequestBody, ResponseBody> Service<Request<RequestBody>> for RateLimitService<T, S, C>
where
    T: Service<Request<RequestBody>, Response = Response<ResponseBody>> + Clone + Send + 'static,
    T::Future: Send + 'static,
    S: SyncStore + 'static,
    C: Clock + 'static,
    RequestBody: Send + 'static,
    ResponseBody: Body<Data = Bytes>,
{
    type Response = Response<LimitedBody<ResponseBody>>;
    type Error = T::Error;
    type Future = ResponseFuture<T::Future, Self::Response, T::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), T::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let (mut parts, body) = request.into_parts();
        let RateLimitLayer { gate, options } = &self.layer;
        if let Some(decided) = options.decide_now(gate, &parts) {
            return match decided {
                LayerDecision::Admitted(admitted) => {
                    admitted.extend(&mut parts);
                    ResponseFuture::passed(self.inner.call(Request::from_parts(parts, body)), admitted)
                }
                LayerDecision::Refused(response) => {
                    ResponseFuture::refused(response.map(LimitedBody::of_refusal))
                }
            };
        }
        // The service that is ready, and a clone that takes its place.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let (gate, options) = (Arc::clone(gate), Arc::clone(options));
        ResponseFuture::deciding(async move {
            let (decision, mut parts) = decide_detached(gate, options, parts).await;
            match decision {
                LayerDecision::Admitted(admitted) => {
                    admitted.extend(&mut parts);
                    admitted.finish(inner.call(Request::from_parts(parts, body)).await)
                }
                LayerDecision::Refused(response) => Ok(response.map(LimitedBody::of_refusal)),
            }
        })
    }
}

/// Random number that spreads `Retry-After`.
fn jitter() -> u64 {
    u64::from_le_bytes(random())
}

/// Decides in a task of its own, which ends no decision of the store halfway: a request that is
/// cancelled meanwhile gives back what it is charged when the task drops the charge. A request that
/// only waits leaves its queue at once.
async fn decide_detached<S: SyncStore + 'static, C: Clock + 'static>(
    gate: Arc<Gate<S, C>>,
    options: Arc<LayerOptions>,
    parts: Parts,
) -> (LayerDecision, Parts) {
    if gate.store().as_memory().is_some() {
        // Memory decides at once: all that this awaits is the turn.
        return (options.decide(&gate, &parts, &WaitFlag::default()).await, parts);
    }
    // Open for as long as the caller waits for the task.
    let (caller, departure) = oneshot::channel::<Infallible>();
    let task = tokio::spawn(async move {
        let flag = WaitFlag::default();
        let decision = unless_departed(pin!(options.decide(&gate, &parts, &flag)), departure, &flag).await;
        decision.map(|decision| (decision, parts))
    });
    let decided = task.await;
    drop(caller);
    match decided {
        Ok(Some(decided)) => decided,
        // The caller is here, so the runtime shuts down, and drops this future too.
        Ok(None) => pending().await,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => pending().await,
        },
    }
}

/// Result of a decision; `None` if the caller departs while the request only waits.
async fn unless_departed<D: Future>(
    mut decision: Pin<&mut D>,
    mut departure: oneshot::Receiver<Infallible>,
    flag: &WaitFlag,
) -> Option<D::Output> {
    let mut is_departed = false;
    poll_fn(move |context| {
        if let Poll::Ready(decided) = decision.as_mut().poll(context) {
            return Poll::Ready(Some(decided));
        }
        is_departed = is_departed || Pin::new(&mut departure).poll(context).is_ready();
        if is_departed && flag.is_set() { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}

impl GateAdmission {
    /// Makes the charge known to the handler, where there is something to settle.
    fn extend(&self, parts: &mut Parts) {
        if let Some(charge) = &self.charge {
            parts.extensions.insert(ChargeHandle::new(charge));
        }
    }
}

impl LayerOptions {
    /// Decides without a future. `None` if that is not possible: nothing was decided then.
    #[inline]
    fn decide_now<S: SyncStore + 'static, C: Clock + 'static>(
        &self,
        gate: &Arc<Gate<S, C>>,
        parts: &Parts,
    ) -> Option<LayerDecision> {
        if !self.wait.is_zero() || gate.store().as_memory().is_none() {
            return None;
        }
        let policy = gate.policy_guard();
        let address = self.attributes.client(&policy, parts).map(RequestAddress::new);
        // Filled in place, because it is large.
        let mut request = slidegate_policy::Request::new();
        if let Err(error) = self.attributes.fill(&mut request, policy.built_ins(), parts, address.as_ref()) {
            return Some(self.refuse(&Refusal::Invalid(&error), parts));
        }
        let cost = request.requested_cost();
        match &mut gate.check_now_by(policy, &request, |_| {}) {
            Ok(answer) => answer.as_mut().map(|answer| self.conclude(gate, parts, answer, cost)),
            Err(error) => Some(self.refuse_error(error, parts)),
        }
    }

    /// Decides over any store.
    async fn decide<S: SyncStore + 'static, C: Clock + 'static>(
        &self,
        gate: &Arc<Gate<S, C>>,
        parts: &Parts,
        flag: &WaitFlag,
    ) -> LayerDecision {
        let address = self.attributes.client(&gate.policy(), parts).map(RequestAddress::new);
        let mut request = slidegate_policy::Request::new();
        if let Err(error) = self.attributes.fill(&mut request, ALL_BUILT_INS, parts, address.as_ref()) {
            return self.refuse(&Refusal::Invalid(&error), parts);
        }
        let cost = request.requested_cost();
        let request = CheckRequest { wait: self.wait, ..CheckRequest::from(request) };
        match gate.check_with_flag(&request, flag).await {
            Ok(mut answer) => self.conclude(gate, parts, &mut answer, cost),
            Err(error) => self.refuse_error(&error, parts),
        }
    }

    /// Admission or refusal of an answer.
    #[inline]
    fn conclude<S: SyncStore + 'static, C: Clock + 'static>(
        &self,
        gate: &Arc<Gate<S, C>>,
        parts: &Parts,
        answer: &mut Answer,
        cost: u64,
    ) -> LayerDecision {
        if !answer.is_allowed() {
            return self.refuse_answer(answer, parts);
        }
        let fields = self.headers.fields(answer, jitter);
        let charge = answer.take_permit().map(|permit| GateCharge::open(Arc::clone(gate), permit, cost));
        LayerDecision::Admitted(GateAdmission { fields, charge })
    }

    #[inline(never)]
    fn refuse_answer(&self, answer: &Answer, parts: &Parts) -> LayerDecision {
        if let Some((rule, reason)) = answer.blocked() {
            return self.refuse(&Refusal::Blocked { rule, reason }, parts);
        }
        let mut response = self.render(&Refusal::Denied(answer), parts);
        self.headers.fields(answer, jitter).put_into(response.headers_mut());
        LayerDecision::Refused(response)
    }

    #[cold]
    fn refuse_error<E: std::error::Error>(&self, error: &GateError<E>, parts: &Parts) -> LayerDecision {
        match error {
            GateError::Store(error) => {
                tracing::warn!(%error, "the store of the rate limits is unavailable");
                self.refuse(&Refusal::Unavailable, parts)
            }
            GateError::TooManyPermits { decided_by, decided_at_ms } => {
                let (decided_by, decided_at_ms) = (*decided_by, *decided_at_ms);
                self.refuse(&Refusal::TooManyPermits { decided_by, decided_at_ms }, parts)
            }
            GateError::Full => self.refuse(&Refusal::Unavailable, parts),
            GateError::Request(_) | GateError::Conflict => {
                self.refuse(&Refusal::Invalid(&error.to_string()), parts)
            }
        }
    }

    fn refuse(&self, refusal: &Refusal<'_>, parts: &Parts) -> LayerDecision {
        LayerDecision::Refused(self.render(refusal, parts))
    }

    fn render(&self, refusal: &Refusal<'_>, parts: &Parts) -> Response<Bytes> {
        respond(refusal, self.refuse.as_deref(), &parts.headers)
    }
}
