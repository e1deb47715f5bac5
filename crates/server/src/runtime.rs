//! Runtime: the decider, and the tasks that keep it up to date while the server runs.

pub(crate) mod backend;
pub(crate) mod certificates;
pub(crate) mod decider;
pub(crate) mod file_watch;
pub(crate) mod metrics;
pub(crate) mod overrides;
pub(crate) mod reload;
pub(crate) mod snapshot;

use std::net::SocketAddr;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use slidegate::telemetry::{Telemetry, TelemetrySettings, TimingMode};
use slidegate::{Clock, Gate, SystemClock};
use tokio::sync::Mutex;

use self::backend::Backend;
use self::decider::Decider;
use self::reload::LivePolicy;
use self::snapshot::{SnapshotState, Snapshots};
use crate::config::error::ConfigError;
use crate::config::exposure;
use crate::config::{Config, ObserveSettings, Settings};
use crate::net::connections::ConnectionStats;
use crate::net::network::Network;
use crate::net::tls::Certificates;
use crate::telemetry::audit::AuditBudget;
use crate::telemetry::denial_log::{DenialLog, DenialLogStats};
use crate::telemetry::log_writer::LogWriter;
use crate::telemetry::otlp::Tracer;

/// Runtime of the server: its decider, with reloads, overrides, snapshots and logs.
pub struct Runtime<C = SystemClock> {
    decider: Arc<Decider<C>>,
    live: LivePolicy,
    /// Lock of the notes in the store: one task at a time reads or changes them.
    notes_lock: Mutex<()>,
    /// Address that the admin listener is bound to.
    admin_address: OnceLock<SocketAddr>,
    snapshots: Option<Snapshots>,
    pub(crate) denial_log: Arc<DenialLog>,
    pub(crate) audit_budget: Arc<AuditBudget>,
    /// Number of open event streams.
    pub(crate) viewers: Arc<AtomicUsize>,
    /// Log writer, if this process has one.
    pub(crate) log: Option<LogWriter>,
}

impl Runtime {
    /// Runtime for a policy file. A memory store is restored from its snapshot, whose file belongs
    /// to this process from now on; a remote store is connected at the first request.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let Some((memory, snapshots)) = snapshot::open(&config.settings.store)? else {
            let backend = Backend::new(&config)?;
            return Self::over(config, backend);
        };
        let runtime = Self::over(config, Backend::Memory(memory))?;
        Ok(Self { snapshots: Some(snapshots), ..runtime })
    }

    /// Runtime over an existing store, without snapshots.
    pub fn over(config: Config, backend: Backend) -> Result<Self, ConfigError> {
        let Config { policy, settings } = config;
        settings.server.check()?;
        let certificates = Certificates::load(&settings.server)?;
        let tracer = Tracer::new(&settings)?;
        let file = policy.clone();
        let timed = match &backend {
            Backend::Memory(_) => TimingMode::Sample,
            Backend::Redis(_) => TimingMode::Each,
        };
        let mut gate = Gate::new(policy, backend).max_waiting(settings.server.max_waiting as usize);
        if let Some(secret) = settings.server.permit_key() {
            gate = gate.permit_secret(secret);
        }
        let mut denial_log = Arc::default();
        if settings.observe.enabled {
            let telemetry = Telemetry::new(telemetry_settings(&settings.observe)).timed(timed);
            denial_log = Arc::new(DenialLog::new(Arc::clone(telemetry.interest())));
            let log = Arc::clone(&denial_log);
            telemetry.on_denial(move |denial| log.record(denial));
            gate = gate.observe(Arc::new(telemetry));
        }
        let network = Network::new(settings.server.clone(), certificates);
        Ok(Self {
            live: LivePolicy::new(file, settings, gate.now_ms()),
            decider: Arc::new(Decider::new(gate, network, tracer)),
            notes_lock: Mutex::new(()),
            admin_address: OnceLock::new(),
            snapshots: None,
            denial_log,
            audit_budget: Arc::default(),
            viewers: Arc::default(),
            log: None,
        })
    }
}

impl Config {
    /// Checks that a server could start with it, without starting one.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.settings.server.check()?;
        Tracer::check(&self.settings)?;
        Backend::check(&self.settings.store)
    }
}

impl<C: Clock> Runtime<C> {
    /// The same with another clock, for tests.
    pub fn clock<D: Clock>(self, clock: D) -> Runtime<D> {
        Runtime {
            decider: Arc::new(not_shared(self.decider).clock(clock)),
            live: self.live,
            notes_lock: self.notes_lock,
            admin_address: self.admin_address,
            snapshots: self.snapshots,
            denial_log: self.denial_log,
            audit_budget: self.audit_budget,
            viewers: self.viewers,
            log: self.log,
        }
    }

    /// Divides the file descriptors of the process among the listeners, and warns if they do not
    /// suffice for the settings. Some are reserved for other purposes.
    pub fn open_files(mut self, allowed: u64) -> Self {
        let server = &self.settings().server;
        self.decider = Arc::new(not_shared(self.decider).open_files(allowed, server));
        self
    }

    /// Counts the lines of this log writer in the metrics, and leaves most of its queue to lines
    /// other than denials.
    pub fn log_writer(self, log: LogWriter) -> Self {
        Self { log: Some(log), ..self }
    }

    /// Decider of the protocols.
    pub(crate) fn decider(&self) -> &Arc<Decider<C>> {
        &self.decider
    }

    pub(crate) fn network(&self) -> &Arc<Network> {
        self.decider.network()
    }

    /// The gate.
    pub fn gate(&self) -> &Gate<Backend, C> {
        self.decider.gate()
    }

    /// Telemetry of decisions, unless the settings disable it.
    pub fn telemetry(&self) -> Option<&Arc<Telemetry>> {
        self.decider.telemetry()
    }

    /// Number of requests that may be waiting in a queue.
    pub fn waiting(&self) -> usize {
        self.decider.waiting()
    }

    /// Whether it accepts requests: `false` once shutdown has begun.
    pub fn is_ready(&self) -> bool {
        self.decider.is_ready()
    }

    /// Begins the shutdown: from now on it is not ready, and every response ends its connection.
    pub fn begin_shutdown(&self) {
        self.decider.begin_shutdown();
    }

    /// Counts of connections to all listeners.
    pub fn connection_stats(&self) -> ConnectionStats {
        self.network().stats()
    }

    /// Counts of denials in the denial log.
    pub fn denial_log(&self) -> DenialLogStats {
        self.denial_log.stats()
    }

    /// State of the snapshots, if there are any.
    pub fn snapshot_state(&self) -> Option<SnapshotState> {
        self.snapshots.as_ref().map(Snapshots::state)
    }

    /// Sets the address of the admin listener, before it accepts connections. Fails if other
    /// machines can reach it without a token or a certificate.
    pub fn bind_admin(&self, address: SocketAddr) -> Result<(), ConfigError> {
        let settings = self.settings();
        let admin = settings.server.admin.as_ref().ok_or(ConfigError::AdminIsNotSet { address })?;
        if self.admin_address() != Some(address) {
            exposure::check_bound(admin, address)?;
            let _first_counts = self.admin_address.set(address);
        }
        Ok(())
    }

    /// Checks that the admin listener is still protected with other settings.
    fn check_exposure(&self, settings: &Settings) -> Result<(), ConfigError> {
        match (&settings.server.admin, self.admin_address()) {
            (Some(admin), Some(address)) => exposure::check_at(admin, address),
            _ => Ok(()),
        }
    }

    pub(crate) fn admin_address(&self) -> Option<SocketAddr> {
        self.admin_address.get().copied()
    }

    fn set_telemetry(&self, settings: &ObserveSettings) {
        self.denial_log.set(settings.denial_log);
        if let Some(telemetry) = self.telemetry() {
            telemetry.set(telemetry_settings(settings));
        }
    }
}

/// Value that nothing else shares, because the server does not run yet.
fn not_shared<T>(shared: Arc<T>) -> T {
    Arc::into_inner(shared).expect("nothing shares it before the server runs")
}

fn telemetry_settings(settings: &ObserveSettings) -> TelemetrySettings {
    TelemetrySettings { near_miss: settings.near_miss, subjects: settings.subjects }
}
