//! Reload of the policy while the server runs. An invalid file changes nothing.

mod apply;
mod error;
mod settings;
mod source;
mod state;

use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use slidegate::Clock;
use slidegate::policy::Policy;
use tokio::task::spawn_blocking;

use apply::Reporting;
pub use error::ReloadError;
pub use source::PolicySource;
pub(crate) use source::digest;
pub use state::{ReloadState, ReloadSummary};

use super::Runtime;
use super::file_watch::{FileContent, WatchedFiles};
use super::overrides::Overrides;
use crate::config::Settings;

/// Policy in force, with its source.
pub(crate) struct LivePolicy {
    source: Option<PolicySource>,
    /// Locked from reading a file until it is in force, so that no older content follows a newer
    /// one.
    reload_lock: Mutex<()>,
    pub(crate) active: Mutex<ActiveConfig>,
}

/// Policy and settings in force.
pub(crate) struct ActiveConfig {
    /// Rules of the file, without temporary overrides.
    pub(crate) file: Policy,
    settings: Arc<Settings>,
    state: ReloadState,
    /// Certificate files that the last invalid policy file needs.
    awaited: Vec<PathBuf>,
    pub(crate) overrides: Overrides,
}

impl LivePolicy {
    pub(crate) fn new(file: Policy, settings: Settings, loaded_at_ms: u64) -> Self {
        let (settings, state) = (Arc::new(settings), ReloadState::new(loaded_at_ms));
        let active =
            ActiveConfig { file, settings, state, awaited: Vec::new(), overrides: Overrides::default() };
        Self { source: None, reload_lock: Mutex::new(()), active: Mutex::new(active) }
    }

    fn source(&self) -> Result<&PolicySource, ReloadError> {
        self.source.as_ref().ok_or(ReloadError::NoFile)
    }
}

/// Outcome of a reload by the file watch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SettledOutcome {
    Done,
    /// The file has changed again.
    Stale,
}

impl<C: Clock> Runtime<C> {
    /// Runtime with the file of its policy, for reloads.
    pub fn with_source(mut self, source: PolicySource) -> Self {
        self.live.active.get_mut().state.policy_digest = Some(source.digest.clone());
        self.live.source = Some(source);
        self
    }

    /// Policy file, if the policy was read from one.
    pub fn policy_path(&self) -> Option<&Path> {
        self.live.source.as_ref().map(|source| source.path.as_path())
    }

    /// State of reloads.
    pub fn reload_state(&self) -> ReloadState {
        self.live.active.lock().state.clone()
    }

    /// Settings in force: those of the file, except for those that take effect at the next start.
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.live.active.lock().settings)
    }

    /// Reloads the policy now. An invalid file changes nothing; its errors are logged too.
    pub async fn reload(self: &Arc<Self>) -> Result<ReloadSummary, ReloadError>
    where
        C: 'static,
    {
        let runtime = Arc::clone(self);
        let reloaded = spawn_blocking(move || runtime.reload_now()).await;
        reloaded.unwrap_or_else(|ended| std::panic::resume_unwind(ended.into_panic()))
    }

    /// Reloads on this thread, which waits for the disk.
    pub fn reload_now(&self) -> Result<ReloadSummary, ReloadError> {
        let source = match self.live.source() {
            Ok(source) => source,
            Err(error) => {
                tracing::warn!("{error}");
                return Err(error);
            }
        };
        let _lock = self.live.reload_lock.lock();
        self.apply(source, &FileContent::of(&source.path), Reporting::All)
    }

    /// Reloads a settled content, unless it was loaded already and awaits no certificates.
    fn reload_settled(&self, settled: &FileContent) -> SettledOutcome {
        let Ok(source) = self.live.source() else { return SettledOutcome::Done };
        let _lock = self.live.reload_lock.lock();
        // It may have changed again, or an operator may have reloaded it.
        if FileContent::of(&source.path) != *settled {
            return SettledOutcome::Stale;
        }
        let state = self.reload_state();
        let is_loaded = settled.bytes().is_some_and(|bytes| state.last_digest() == Some(&digest(bytes)));
        if !is_loaded || !self.awaited().is_empty() {
            // The result is in the log and in the state.
            let _logged = self.apply(source, settled, Reporting::Changes);
        }
        SettledOutcome::Done
    }

    /// Applies the rules of the file with the overrides that fit them.
    pub(super) fn renew(&self, now: &mut ActiveConfig) {
        let policy = now.overrides.over(&now.file, self.gate().now_ms());
        self.gate().replace(policy);
    }

    fn awaited(&self) -> Vec<PathBuf> {
        self.live.active.lock().awaited.clone()
    }
}

/// Watches the policy file, and reloads it when it has changed and settled. Never returns.
pub(crate) async fn watch<C: Clock + 'static>(runtime: Arc<Runtime<C>>) {
    let Some(path) = runtime.policy_path() else { return pending().await };
    // A change since startup counts too.
    let mut watched = WatchedFiles::new(vec![path.to_owned()]);
    let mut awaited = Vec::new();
    loop {
        watched.changed().await;
        let (reloading, content) = (Arc::clone(&runtime), watched.content(0));
        if let Ok(SettledOutcome::Stale) = spawn_blocking(move || reloading.reload_settled(&content)).await {
            watched.repeat();
        }
        // A file that is only invalid for its certificates is tried again when these change.
        if runtime.awaited() != awaited {
            awaited = runtime.awaited();
            let paths = [path.to_owned()].into_iter().chain(awaited.iter().cloned()).collect();
            let Ok(all) = spawn_blocking(|| WatchedFiles::new(paths)).await else { return };
            watched = all;
        }
    }
}
