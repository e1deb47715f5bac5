//! The one place that limits: what the service consists of, and `decide`, which every protocol asks.

mod decide;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, Guard};
use slidegate::policy::Settings;
use slidegate::policy::file::Observe;
use slidegate::telemetry::{Observer, ObserverSettings, Started, Timed};
use slidegate::{Clock, Gate, SystemClock};

use super::backend::Backend;
use super::reload::Live;
use super::snapshot;
use super::snapshot::{SnapshotState, Snapshots};
use crate::admin::events::Events;
use crate::config::exposure;
use crate::config::listener::Door;
use crate::config::{Config, ConfigError, HttpSettings};
use crate::net::byte_budget::Unfinished;
use crate::net::connections::{Capacity, ConnectionStats, Counts, OpenFiles, Turns};
use crate::net::tls::Certificates;
use crate::protocols::resp;
use crate::telemetry::audit::Refusals;
use crate::telemetry::auth_failures::AuthFailures;
use crate::telemetry::denial_log::{DenialLog, DenialLogStats};
use crate::telemetry::log_writer::{LogStats, LogWriter};
use crate::telemetry::otlp::Telemetry;
use crate::telemetry::path_refusals::PathRefusals;
use tokio::sync::{Mutex, Notify};

/// A policy over a store, with the settings of the service.
pub struct App<C = SystemClock> {
    gate: Gate<Backend, C>,
    pub(crate) certificates: Certificates,
    http: ArcSwap<HttpSettings>,
    live: Live,
    /// What is told to a collector of it.
    pub(crate) telemetry: Telemetry,
    /// One at a time changes the board of the store, or reads it.
    board_turn: Mutex<()>,
    seeds: AtomicU64,
    held: AtomicUsize,
    pub(crate) path_refusals: PathRefusals,
    stopping: AtomicBool,
    stop_told: Notify,
    /// What has come of calls that are not complete.
    pub(crate) unfinished: Unfinished,
    connections: Counts,
    /// Turns of connections that always have more to do.
    turns: Turns,
    /// Where the admin listener really is, once it is there.
    admin_address: OnceLock<SocketAddr>,
    snapshots: Option<Snapshots>,
    events: Arc<Events>,
    denials: Arc<DenialLog>,
    auth_failures: AuthFailures,
    refusals: Refusals,
    /// Descriptors of the process, where their number is known.
    open_files: Option<OpenFiles>,
    /// Writer of the log, if it is not somebody else's business.
    log: Option<LogWriter>,
}

impl App {
    /// The service that a policy file describes. A store in memory is restored from its snapshot, and that file is this process's
    /// own from now on; a store elsewhere is connected at the first request.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let Some((memory, snapshots)) = snapshot::open(&config.settings.store)? else {
            let backend = Backend::new(&config)?;
            return Self::over(config, backend);
        };
        let app = Self::over(config, Backend::Memory(memory))?;
        Ok(Self { snapshots: Some(snapshots), ..app })
    }

    /// The same over a store that is already there, of which no snapshots are kept.
    pub fn over(config: Config, backend: Backend) -> Result<Self, ConfigError> {
        let Config { policy, settings } = config;
        let http = HttpSettings::new(&settings)?;
        let certificates = Certificates::load(&settings.server)?;
        let telemetry = Telemetry::new(&settings)?;
        let file = policy.clone();
        let timed = match &backend {
            Backend::Memory(_) => Timed::Sample,
            Backend::Redis(_) => Timed::Each,
        };
        resp::announce(&backend);
        let mut gate = Gate::new(policy, backend).max_waiting(http.max_waiting);
        if let Some(secret) = http.permit_secret {
            gate = gate.permit_secret(secret);
        }
        let mut denials = Arc::default();
        if settings.observe.enabled {
            let observer = Observer::new(observer_settings(&settings.observe)).timed(timed);
            denials = Arc::new(DenialLog::new(Arc::clone(observer.hearing())));
            let log = Arc::clone(&denials);
            observer.on_denial(move |denial| log.note(denial));
            gate = gate.observe(Arc::new(observer));
        }
        let seed = getrandom::u64().unwrap_or_default();
        Ok(Self {
            live: Live::new(file, settings, gate.now_ms()),
            telemetry,
            board_turn: Mutex::new(()),
            gate,
            certificates,
            http: ArcSwap::from_pointee(http),
            seeds: AtomicU64::new(seed),
            held: AtomicUsize::new(0),
            path_refusals: PathRefusals::default(),
            stopping: AtomicBool::new(false),
            stop_told: Notify::new(),
            unfinished: Unfinished::of_all(),
            connections: Counts::default(),
            turns: Turns::new(),
            admin_address: OnceLock::new(),
            snapshots: None,
            events: Arc::default(),
            denials,
            auth_failures: AuthFailures::default(),
            refusals: Refusals::default(),
            open_files: None,
            log: None,
        })
    }
}

impl<C: Clock> App<C> {
    /// The same by another clock: for tests.
    pub fn clock<D: Clock>(self, clock: D) -> App<D> {
        App {
            gate: self.gate.clock(clock),
            http: self.http,
            certificates: self.certificates,
            live: self.live,
            telemetry: self.telemetry,
            board_turn: self.board_turn,
            seeds: self.seeds,
            held: self.held,
            path_refusals: self.path_refusals,
            stopping: self.stopping,
            stop_told: self.stop_told,
            unfinished: self.unfinished,
            connections: self.connections,
            turns: self.turns,
            admin_address: self.admin_address,
            snapshots: self.snapshots,
            events: self.events,
            denials: self.denials,
            auth_failures: self.auth_failures,
            refusals: self.refusals,
            open_files: self.open_files,
            log: self.log,
        }
    }

    /// Divides so many file descriptors among the listeners, and warns if that is less than the settings ask for. Some are kept for
    /// everything but connections.
    pub fn open_files(self, allowed: u64) -> Self {
        let open_files = OpenFiles::new(allowed, &self.settings().server);
        open_files.warn(&self.http().connections);
        Self { open_files: Some(open_files), ..self }
    }

    /// Number of connections that a listener may have.
    pub(crate) fn capacity(&self, door: Door) -> Capacity {
        let http = self.http();
        match self.open_files {
            Some(open_files) => open_files.capacity(&http.connections, door),
            None => Capacity::configured(&http.connections),
        }
    }

    /// Counts the lines of this log writer in the metrics, and leaves most of its queue to lines other than denials.
    pub fn log_writer(self, log: LogWriter) -> Self {
        Self { log: Some(log), ..self }
    }

    /// What decides.
    pub fn gate(&self) -> &Gate<Backend, C> {
        &self.gate
    }

    /// Who counts what is decided, unless the settings say that nobody does.
    #[inline]
    pub fn observer(&self) -> Option<&Arc<Observer>> {
        self.gate.observer()
    }

    /// What became of denials in the denial log.
    pub fn denial_log(&self) -> DenialLogStats {
        self.denials.stats()
    }

    pub(crate) fn denials(&self) -> &Arc<DenialLog> {
        &self.denials
    }

    pub(crate) fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    pub(crate) fn log(&self) -> Option<&LogWriter> {
        self.log.as_ref()
    }

    pub(crate) fn log_stats(&self) -> Option<LogStats> {
        self.log.as_ref().map(LogWriter::stats)
    }

    pub(crate) fn set_observer(&self, settings: &Observe) {
        self.denials.set(settings.denial_log);
        if let Some(observer) = self.observer() {
            observer.set(observer_settings(settings));
        }
    }

    /// Begins to time a decision, if this one is to be.
    #[inline]
    fn start(&self) -> Option<Started> {
        self.observer().and_then(|observer| observer.start())
    }

    #[inline]
    fn finish(&self, started: Option<Started>) {
        if let Some(observer) = self.observer() {
            observer.finish(started);
        }
    }

    /// How many requests are being answered that may be held for their turn.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Whether it is good to send requests here: no more once it was told to end.
    #[inline]
    pub fn is_ready(&self) -> bool {
        !self.stopping.load(Ordering::Relaxed)
    }

    /// Says that it will end soon: from now on it is not ready, and every answer ends its connection.
    pub fn begin_stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.stop_told.notify_waiters();
    }

    /// Completes when it is not ready any more.
    pub(crate) async fn stop_begun(&self) {
        // Before it is looked at, so that nothing is missed in between.
        let told = self.stop_told.notified();
        if self.is_ready() {
            told.await;
        }
    }

    /// Told where the admin listener really is, before anybody is let in. Refuses what other machines can reach without a token
    /// or a certificate.
    pub fn bind_admin(&self, address: SocketAddr) -> Result<(), ConfigError> {
        let settings = self.settings();
        let admin = settings.server.admin.as_ref().ok_or(ConfigError::AdminIsNotSet { address })?;
        if self.admin_address() != Some(address) {
            exposure::check_bound(admin, address)?;
            let _first_counts = self.admin_address.set(address);
        }
        Ok(())
    }

    /// Whether the admin listener that there is would still be guarded with other settings.
    pub(crate) fn keeps_guard(&self, settings: &Settings) -> Result<(), ConfigError> {
        match (&settings.server.admin, self.admin_address()) {
            (Some(admin), Some(address)) => exposure::check_at(admin, address),
            _ => Ok(()),
        }
    }

    pub(crate) fn admin_address(&self) -> Option<SocketAddr> {
        self.admin_address.get().copied()
    }

    /// What became of the connections to all listeners.
    pub fn connection_stats(&self) -> ConnectionStats {
        self.connections.stats()
    }

    /// How its snapshots are doing, where there are any.
    pub fn snapshot_state(&self) -> Option<SnapshotState> {
        self.snapshots.as_ref().map(Snapshots::state)
    }

    pub(crate) fn snapshots(&self) -> Option<&Snapshots> {
        self.snapshots.as_ref()
    }

    /// Waits for the disk.
    pub(crate) fn save_snapshot(&self) {
        if let (Some(snapshots), Backend::Memory(memory)) = (&self.snapshots, self.gate.store()) {
            snapshots.save(memory, || self.gate.now_ms());
        }
    }

    pub(crate) fn events(&self) -> &Arc<Events> {
        &self.events
    }

    pub(crate) fn auth_failures(&self) -> &AuthFailures {
        &self.auth_failures
    }

    pub(crate) fn connections(&self) -> &Counts {
        &self.connections
    }

    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    /// The settings of HTTP as they are now. Cheap: nothing is counted.
    #[inline]
    pub(crate) fn http(&self) -> Guard<Arc<HttpSettings>> {
        self.http.load()
    }

    pub(crate) fn set_http(&self, http: HttpSettings) {
        self.open_files.inspect(|open_files| open_files.warn(&http.connections));
        self.http.store(Arc::new(http));
    }

    pub(crate) fn live(&self) -> &Live {
        &self.live
    }

    pub(crate) fn live_mut(&mut self) -> &mut Live {
        &mut self.live
    }

    pub(crate) fn board_turn(&self) -> &Mutex<()> {
        &self.board_turn
    }

    /// A number that was not given before, and does not show what comes next to the eye. It keeps no secret.
    pub(crate) fn next_seed(&self) -> u64 {
        let mut mixed = self.seeds.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

fn observer_settings(settings: &Observe) -> ObserverSettings {
    ObserverSettings { near_miss: settings.near_miss, subjects: settings.subjects }
}
