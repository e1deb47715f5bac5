//! The one place that limits.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use slidegate::{
    Answer, Ask, CallError, Clock, Gate, GateError, Limit, Permit, SettleOutcome, Store, SystemClock, Verdict,
};

use crate::config::{Config, ConfigError, HttpSettings};
use crate::store::Backend;

type StoreError = <Backend as Store>::Error;

/// A policy over a store, with the settings of the service.
pub struct App<C = SystemClock> {
    gate: Gate<Backend, C>,
    http: HttpSettings,
    seeds: AtomicU64,
    held: AtomicUsize,
}

impl App {
    /// The service that a policy file describes. A store elsewhere is connected at the first request.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let backend = Backend::new(&config)?;
        Self::over(config, backend)
    }

    /// The same over a store that is already there.
    pub fn over(config: Config, backend: Backend) -> Result<Self, ConfigError> {
        let Config { policy, settings } = config;
        let http = HttpSettings::new(&settings.server)?;
        let mut gate = Gate::new(policy, backend).max_waiting(http.max_waiting);
        if let Some(secret) = http.permit_secret {
            gate = gate.permit_secret(secret);
        }
        let seed = getrandom::u64().unwrap_or_default();
        Ok(Self { gate, http, seeds: AtomicU64::new(seed), held: AtomicUsize::new(0) })
    }
}

impl<C: Clock> App<C> {
    /// The same by another clock: for tests.
    pub fn clock<D: Clock>(self, clock: D) -> App<D> {
        App { gate: self.gate.clock(clock), http: self.http, seeds: self.seeds, held: self.held }
    }

    /// What decides.
    pub fn gate(&self) -> &Gate<Backend, C> {
        &self.gate
    }

    /// How many requests are being answered that may be held for their turn.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    pub(crate) fn http(&self) -> &HttpSettings {
        &self.http
    }

    /// A number that was not given before, and does not show what comes next to the eye. It keeps no secret.
    pub(crate) fn next_seed(&self) -> u64 {
        let mut mixed = self.seeds.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) async fn check(&self, ask: &Ask<'_>) -> Result<Answer, GateError<StoreError>> {
        let _held = (!ask.wait.is_zero()).then(|| Held::new(&self.held));
        self.gate.check(ask).await
    }

    pub(crate) async fn check_rule(
        &self,
        rule: &str,
        ask: &Ask<'_>,
    ) -> Result<Option<Answer>, GateError<StoreError>> {
        self.gate.check_rule(rule, ask).await
    }

    pub(crate) async fn limit(&self, key: &str, limit: Limit, cost: u64) -> Result<Verdict, StoreError> {
        self.gate.limit(key, limit, cost).await
    }

    pub(crate) async fn settle(
        &self,
        permit: &Permit,
        cost: u64,
    ) -> Result<SettleOutcome, CallError<StoreError>> {
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
