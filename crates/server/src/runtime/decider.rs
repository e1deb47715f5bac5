//! Decider of all protocols: the gate, with the timing and the traces of its decisions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use arc_swap::Guard;
use hyper::HeaderMap;
use slidegate::telemetry::{Telemetry, Timer};
use slidegate::{
    Answer, BatchItem, CallError, CheckRequest, Clock, Gate, GateError, Key, Limit, Permit, Request,
    SettlementReport, Space, Verdict,
};
use tokio::sync::Notify;

use super::backend::{Backend, StoreError};
use crate::config::ServerSettings;
use crate::config::listener::Listener;
use crate::net::network::Network;
use crate::telemetry::auth_failures::AuthFailures;
use crate::telemetry::otlp::{Trace, Tracer};
use crate::telemetry::path_refusals::PathRefusals;

/// Decider of all protocols.
pub(crate) struct Decider<C> {
    gate: Gate<Backend, C>,
    network: Arc<Network>,
    pub(crate) tracer: Tracer,
    pub(crate) auth_failures: AuthFailures,
    pub(crate) path_refusals: PathRefusals,
    seeds: AtomicU64,
    /// Number of requests that may be waiting in a queue.
    waiting: AtomicUsize,
    is_stopping: AtomicBool,
    stopping: Notify,
}

impl<C: Clock> Decider<C> {
    pub(crate) fn new(gate: Gate<Backend, C>, network: Network, tracer: Tracer) -> Self {
        Self {
            gate,
            network: Arc::new(network),
            tracer,
            auth_failures: AuthFailures::default(),
            path_refusals: PathRefusals::default(),
            seeds: AtomicU64::new(getrandom::u64().unwrap_or_default()),
            waiting: AtomicUsize::new(0),
            is_stopping: AtomicBool::new(false),
            stopping: Notify::new(),
        }
    }

    /// The same with another clock.
    pub(crate) fn clock<D: Clock>(self, clock: D) -> Decider<D> {
        Decider {
            gate: self.gate.clock(clock),
            network: self.network,
            tracer: self.tracer,
            auth_failures: self.auth_failures,
            path_refusals: self.path_refusals,
            seeds: self.seeds,
            waiting: self.waiting,
            is_stopping: self.is_stopping,
            stopping: self.stopping,
        }
    }

    /// The same with a number of file descriptors for its listeners.
    pub(crate) fn open_files(self, allowed: u64, server: &ServerSettings) -> Self {
        let network = Arc::into_inner(self.network).expect("nothing shares it before the server runs");
        Self { network: Arc::new(network.open_files(allowed, server)), ..self }
    }

    #[inline]
    pub(crate) fn gate(&self) -> &Gate<Backend, C> {
        &self.gate
    }

    pub(crate) fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Settings in force, without a reference count.
    #[inline]
    pub(crate) fn settings(&self) -> Guard<Arc<ServerSettings>> {
        self.network.settings()
    }

    /// Telemetry of decisions, unless the settings disable it.
    #[inline]
    pub(crate) fn telemetry(&self) -> Option<&Arc<Telemetry>> {
        self.gate.telemetry()
    }

    /// Number of requests that may be waiting in a queue.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Whether it accepts requests: `false` once shutdown has begun.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        !self.is_stopping.load(Ordering::Relaxed)
    }

    /// Begins the shutdown: from now on it is not ready, and every response ends its connection.
    pub(crate) fn begin_shutdown(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.stopping.notify_waiters();
    }

    /// Completes when shutdown has begun.
    pub(crate) async fn shutdown_begun(&self) {
        // Before the check of the flag, so that no notification is missed.
        let stopping = self.stopping.notified();
        if self.is_ready() {
            stopping.await;
        }
    }

    /// Pseudorandom number, by SplitMix64. It is not secret.
    pub(crate) fn next_seed(&self) -> u64 {
        let mut mixed = self.seeds.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Starts a timer, if this decision is sampled.
    #[inline]
    fn start(&self) -> Option<Timer> {
        self.telemetry().and_then(|telemetry| telemetry.start())
    }

    #[inline]
    fn finish(&self, started: Option<Timer>) {
        if let Some(telemetry) = self.telemetry() {
            telemetry.finish(started);
        }
    }

    /// Trace of a request, by its listener, its operation and its headers.
    #[inline]
    pub(crate) fn trace(&self, operation: (Listener, &'static str), headers: Option<&HeaderMap>) -> Trace {
        self.tracer.trace(operation, headers, || self.next_seed())
    }

    pub(crate) async fn check(
        &self,
        ask: &CheckRequest<'_>,
        trace: Trace,
    ) -> Result<Answer, GateError<StoreError>> {
        // The time in a wait queue is not decision latency.
        let waiting = (!ask.wait.is_zero()).then(|| WaitingRequest::new(&self.waiting));
        let started = if waiting.is_none() { self.start() } else { None };
        let answer = self.gate.check(ask).await;
        if waiting.is_none() {
            self.finish(started);
        }
        self.path_refusals.count_of(&answer);
        self.tracer.answered(trace, &answer);
        answer
    }

    pub(crate) async fn check_rule(
        &self,
        rule: &str,
        ask: &CheckRequest<'_>,
        trace: Trace,
    ) -> Result<Option<Answer>, GateError<StoreError>> {
        let started = self.start();
        let answer = self.gate.check_rule(rule, ask).await.transpose();
        self.finish(started);
        if let Some(answer) = &answer {
            self.path_refusals.count_of(answer);
            self.tracer.answered(trace, answer);
        }
        answer.transpose()
    }

    /// Decides a batch, without ending a trace: a call may be decided in two steps.
    pub(crate) async fn check_all(&self, items: &[BatchItem<'_>]) -> Result<Answer, GateError<StoreError>> {
        let started = self.start();
        let answers = self.gate.check_all(items).await;
        self.finish(started);
        self.path_refusals.count_of(&answers);
        answers
    }

    pub(crate) async fn limit(
        &self,
        space: Space,
        key: impl Into<Key<'_>>,
        limit: Limit,
        cost: u64,
        id: Option<&str>,
        trace: Trace,
    ) -> Result<Verdict, StoreError> {
        let started = self.start();
        let verdict = self.gate.limit_in(space, key, limit, cost, id).await;
        self.finish(started);
        self.tracer.limited(trace, &verdict);
        verdict
    }

    /// [`Self::check`] without a future. `None`, and nothing is decided, unless the state is in
    /// memory.
    #[inline]
    pub(crate) fn check_now(&self, request: &Request<'_>) -> Result<Option<Answer>, GateError<StoreError>> {
        let started = self.start();
        let answer = self.gate.check_now(request);
        match &answer {
            Ok(None) => {}
            Ok(Some(_)) => self.finish(started),
            Err(_) => self.path_refusals.count_of(&answer),
        }
        answer
    }

    /// [`Self::limit`] by a store that does not wait. `None` if there is none.
    #[inline]
    pub(crate) fn limit_now(&self, space: Space, key: &[u8], limit: &Limit, cost: u64) -> Option<Verdict> {
        let started = self.start();
        let verdict = self.gate.limit_now(space, key, limit, cost)?;
        self.finish(started);
        Some(verdict)
    }

    pub(crate) async fn settle(
        &self,
        permit: &Permit,
        cost: u64,
    ) -> Result<SettlementReport, CallError<StoreError>> {
        self.gate.settle(permit, cost).await
    }
}

/// Request that may be waiting in a queue: counted until it is dropped.
struct WaitingRequest<'a>(&'a AtomicUsize);

impl<'a> WaitingRequest<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
