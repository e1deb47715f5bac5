//! Retry policy: the advice, the budget and, where they are enabled, pauses and pace of origins.
//!
//! It does not send requests. The hooks of HTTP clients do, in a loop over [`Attempts`]:
//!
//! ```
//! # use http::{Request, Response};
//! # use slidegate_client::{Environment, Retry};
//! # async fn send(request: Request<String>) -> Response<String> { Response::new(String::new()) }
//! # async fn example<E: Environment>(retry: Retry<E>, mut request: Request<String>) -> Response<String> {
//! let mut attempts = retry.start("https://api.example.com", request.method().clone());
//! loop {
//!     attempts.ready().await;
//!     let copy = Some(request.clone());
//!     let response = send(request).await;
//!     match attempts.next(response.status(), response.headers(), copy) {
//!         Ok(copy) => request = copy,
//!         Err(_stop) => return response,
//!     }
//! }
//! # }
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};

use crate::advice::delay::demand_ms;
use crate::advice::{Advice, Exchange, RetrySettings, Stop, advice};
use crate::environment::Environment;
#[cfg(feature = "tokio")]
use crate::environment::TokioEnvironment;
use crate::origins::Origins;
use crate::pace::Interval;

/// Retry policy of a client. Clones share the state of origins.
#[derive(Debug)]
pub struct Retry<E> {
    settings: RetrySettings,
    pauses: bool,
    paces: bool,
    shared: Arc<RetryState<E>>,
}

#[derive(Debug)]
struct RetryState<E> {
    environment: E,
    origins: Mutex<Origins>,
}

impl<E> Clone for Retry<E> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), ..*self }
    }
}

#[cfg(feature = "tokio")]
impl Retry<TokioEnvironment> {
    /// Policy on Tokio, with the default settings.
    pub fn new() -> Self {
        Self::in_environment(TokioEnvironment::new())
    }
}

#[cfg(feature = "tokio")]
impl Default for Retry<TokioEnvironment> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Environment> Retry<E> {
    /// Policy with another source of time and randomness, with the default settings.
    pub fn in_environment(environment: E) -> Self {
        let shared = Arc::new(RetryState { environment, origins: Mutex::default() });
        Self { settings: RetrySettings::default(), pauses: false, paces: false, shared }
    }

    /// Replaces the settings.
    #[must_use]
    pub fn settings(self, settings: RetrySettings) -> Self {
        Self { settings, ..self }
    }

    /// Pauses an origin after a refusal: no request is sent to it before the delay is over. For
    /// servers whose limits apply to the client as a whole. A delay above
    /// [`RetrySettings::max_wait_ms`] pauses nothing.
    #[must_use]
    pub fn pause_origins(self) -> Self {
        Self { pauses: true, ..self }
    }

    /// Paces the requests to an origin when less than 10 % of a quota is left by its `RateLimit`:
    /// what is left is spread over the time until the quota is renewed. A request waits at most
    /// [`RetrySettings::max_wait_ms`] for its turn.
    #[must_use]
    pub fn pace_origins(self) -> Self {
        Self { paces: true, ..self }
    }

    /// Attempts of a new request. The origin is its scheme, host and port, as text.
    pub fn start(&self, origin: impl Into<String>, method: Method) -> Attempts<E> {
        let origin = origin.into();
        let now_ms = self.shared.environment.monotonic_ms();
        self.origins().state(&origin, now_ms).budget.record_request(now_ms);
        Attempts { retry: self.clone(), origin, method, attempt: 0, wait: None }
    }
}

impl<E> Retry<E> {
    #[cfg(feature = "check")]
    pub(crate) fn environment(&self) -> &E {
        &self.shared.environment
    }

    #[cfg(feature = "check")]
    pub(crate) fn max_attempts(&self) -> u32 {
        self.settings.max_attempts
    }

    fn origins(&self) -> MutexGuard<'_, Origins> {
        // No panic leaves an origin half changed.
        self.shared.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Attempts to send one request.
#[derive(Debug)]
pub struct Attempts<E> {
    retry: Retry<E>,
    origin: String,
    method: Method,
    attempt: u32,
    /// Wait before the next attempt, which is in the budget until then.
    wait: Option<Duration>,
}

impl<E: Environment> Attempts<E> {
    /// Waits until the next attempt may be sent.
    pub async fn ready(&mut self) {
        let environment = &self.retry.shared.environment;
        if let Some(wait) = self.wait {
            environment.sleep(wait).await;
        }
        let hold = self.hold();
        if !hold.is_zero() {
            environment.sleep(hold).await;
        }
        if self.wait.take().is_some() {
            let now_ms = environment.monotonic_ms();
            self.retry.origins().state(&self.origin, now_ms).budget.record_retry(now_ms);
        }
    }

    /// Time to wait for the origin, whose turn is then taken.
    fn hold(&self) -> Duration {
        let Retry { settings, shared, .. } = &self.retry;
        let now_ms = shared.environment.monotonic_ms();
        let mut origins = self.retry.origins();
        let state = origins.state(&self.origin, now_ms);
        Duration::from_millis(state.hold_ms(settings.max_wait_ms, now_ms, || shared.environment.random()))
    }

    /// Decides after a response. Returns the copy of the request if it is to be sent again, once
    /// [`Self::ready`] has waited; otherwise the reason why the response is final. Without a copy
    /// the request cannot be sent again.
    pub fn next<R>(&mut self, status: StatusCode, headers: &HeaderMap, copy: Option<R>) -> Result<R, Stop> {
        let Retry { settings, pauses, paces, shared } = &self.retry;
        let (unix_ms, now_ms) = (shared.environment.unix_ms(), shared.environment.monotonic_ms());
        let delay_ms = demand_ms(status, headers, unix_ms).filter(|_| *pauses);
        let interval = paces.then(|| Interval::of(headers)).flatten();
        let exchange = Exchange {
            method: &self.method,
            is_replayable: copy.is_some(),
            status,
            headers,
            attempt: self.attempt,
            now_ms: unix_ms,
        };
        let advice = advice(&exchange, settings);
        let mut origins = self.retry.origins();
        let state = origins.state(&self.origin, now_ms);
        if self.wait.take().is_some() {
            // It was sent without the wait.
            state.budget.record_retry(now_ms);
        }
        if let Some(delay_ms) = delay_ms.filter(|delay_ms| *delay_ms <= settings.max_wait_ms) {
            state.pause(delay_ms, now_ms);
        }
        if let Some(interval) = interval {
            state.pace(interval, now_ms);
        }
        match advice {
            Advice::Stop(stop) => Err(stop),
            Advice::Wait(_) if !state.budget.try_retry(now_ms) => Err(Stop::BudgetExhausted),
            Advice::Wait(backoff) => {
                self.wait = Some(backoff.duration(shared.environment.random()));
                self.attempt += 1;
                copy.ok_or(Stop::NotReplayable)
            }
        }
    }
}

/// A request that is given up while it waits leaves the budget to others.
impl<E> Drop for Attempts<E> {
    fn drop(&mut self) {
        if self.wait.is_some()
            && let Some(state) = self.retry.origins().get_mut(&self.origin)
        {
            state.budget.cancel_retry();
        }
    }
}
