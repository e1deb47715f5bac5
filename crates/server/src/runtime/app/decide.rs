//! What requests ask for: decided, timed, and told of in traces.

use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::HeaderMap;
use slidegate::{
    Answer, Answers, Ask, AtOnce, CallError, Clock, Demand, GateError, Key, Limit, Permit, Request,
    RequestError, SettlementReport, Space, Store, Verdict,
};

use super::App;
use crate::config::listener::Door;
use crate::runtime::backend::Backend;
use crate::telemetry::otlp::Trace;

type StoreError = <Backend as Store>::Error;

impl<C: Clock> App<C> {
    /// What a request leaves behind in a trace, by the door that it came through, what it asks for, and its headers.
    #[inline]
    pub(crate) fn trace(&self, asked: (Door, &'static str), headers: Option<&HeaderMap>) -> Trace {
        self.telemetry.trace(asked, headers, || self.next_seed())
    }

    pub(crate) async fn check(&self, ask: &Ask<'_>, trace: Trace) -> Result<Answer, GateError<StoreError>> {
        if !ask.wait.is_zero() {
            // How long it is held is no sign of how quick decisions are.
            let _held = Held::new(&self.held);
            let answer = self.gate.check(ask).await;
            self.path_refusals.count_of(&answer);
            trace.answered(&self.telemetry, &answer);
            return answer;
        }
        let started = self.start();
        let answer = self.gate.check(ask).await;
        self.finish(started);
        self.path_refusals.count_of(&answer);
        trace.answered(&self.telemetry, &answer);
        answer
    }

    pub(crate) async fn check_rule(
        &self,
        rule: &str,
        ask: &Ask<'_>,
        trace: Trace,
    ) -> Result<Option<Answer>, GateError<StoreError>> {
        let started = self.start();
        let answer = self.gate.check_rule(rule, ask).await.transpose();
        self.finish(started);
        if let Some(answer) = &answer {
            self.path_refusals.count_of(answer);
            trace.answered(&self.telemetry, answer);
        }
        answer.transpose()
    }

    /// Leaves no trace by itself: a call may be decided in two steps.
    pub(crate) async fn check_all(&self, demands: &[Demand<'_>]) -> Result<Answers, GateError<StoreError>> {
        let started = self.start();
        let answers = self.gate.check_all(demands).await;
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
        trace.limited(&self.telemetry, &verdict);
        verdict
    }

    /// [`App::check`] by a store that does not wait. `None` where only that can answer: nothing was decided then.
    #[inline]
    pub(crate) fn check_at_once<T>(
        &self,
        request: &Request<'_>,
        tell: impl FnOnce(AtOnce<'_>) -> T,
    ) -> Result<Option<T>, RequestError> {
        let Backend::Memory(memory) = self.gate.store() else { return Ok(None) };
        let started = self.start();
        let told = self.gate.check_at_once(request, |call| memory.decide_now(call), tell);
        match &told {
            Ok(Some(_)) => self.finish(started),
            Ok(None) => {}
            Err(error) => self.path_refusals.count(error),
        }
        told
    }

    /// [`App::limit`] by a store that does not wait, if it is one.
    #[inline]
    pub(crate) fn limit_at_once(
        &self,
        space: Space,
        key: &[u8],
        limit: &Limit,
        cost: u64,
    ) -> Option<Verdict> {
        let Backend::Memory(memory) = self.gate.store() else { return None };
        let started = self.start();
        let verdict = self.gate.limit_at_once(space, key, limit, cost, |call| memory.decide_now(call));
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

/// Counts a request while it is there; a client that goes away takes it along.
struct Held<'a>(&'a AtomicUsize);

impl<'a> Held<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
