//! A policy that is read again while the service runs. A file that is not right changes nothing.

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
pub use state::{ReloadState, Reloaded};

use super::Runtime;
use super::file_watch::{FileContent, WatchedFiles};
use super::overrides::Overrides;
use crate::config::Settings;

/// Policy in force, with its source.
pub(crate) struct Live {
    source: Option<PolicySource>,
    /// Held from reading a file until it is in force, so that no older one can follow a newer one.
    turn: Mutex<()>,
    pub(crate) now: Mutex<InForce>,
}

/// Policy and settings in force.
pub(crate) struct InForce {
    /// The rules of the file, without exceptions that hold for a while.
    pub(crate) file: Policy,
    settings: Arc<Settings>,
    state: ReloadState,
    /// The files of certificates without which the file that was refused last cannot be taken.
    awaited: Vec<PathBuf>,
    pub(crate) overrides: Overrides,
}

impl Live {
    pub(crate) fn new(file: Policy, settings: Settings, loaded_at_ms: u64) -> Self {
        let (settings, state) = (Arc::new(settings), ReloadState::new(loaded_at_ms));
        let now = InForce { file, settings, state, awaited: Vec::new(), overrides: Overrides::default() };
        Self { source: None, turn: Mutex::new(()), now: Mutex::new(now) }
    }

    fn source(&self) -> Result<&PolicySource, ReloadError> {
        self.source.as_ref().ok_or(ReloadError::NoFile)
    }
}

/// Outcome of a content that has settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SettledOutcome {
    Done,
    /// The file holds something else already.
    Stale,
}

impl<C: Clock> Runtime<C> {
    /// With the file that the policy was read from, so that it can be read again.
    pub fn source(mut self, source: PolicySource) -> Self {
        self.live.now.get_mut().state.policy_digest = Some(source.digest.clone());
        self.live.source = Some(source);
        self
    }

    /// The file that the policy comes from, if it does.
    pub fn policy_path(&self) -> Option<&Path> {
        self.live.source.as_ref().map(|source| source.path.as_path())
    }

    /// State of reloads.
    pub fn reload_state(&self) -> ReloadState {
        self.live.now.lock().state.clone()
    }

    /// The settings that are in force: those of the file, but for what waits for the next start.
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.live.now.lock().settings)
    }

    /// Reads the policy again, at once, and puts it in force if all of it is right. What is wrong is logged too.
    pub async fn reload(self: &Arc<Self>) -> Result<Reloaded, ReloadError>
    where
        C: 'static,
    {
        let runtime = Arc::clone(self);
        let reloaded = spawn_blocking(move || runtime.reload_now()).await;
        reloaded.unwrap_or_else(|ended| std::panic::resume_unwind(ended.into_panic()))
    }

    /// The same on this thread, which waits for the disk.
    pub fn reload_now(&self) -> Result<Reloaded, ReloadError> {
        let source = match self.live.source() {
            Ok(source) => source,
            Err(error) => {
                tracing::warn!("{error}");
                return Err(error);
            }
        };
        let _turn = self.live.turn.lock();
        self.take(source, &FileContent::of(&source.path), Reporting::All)
    }

    /// Takes what the file was seen to hold, unless that is known already and waits for nothing else.
    fn reload_settled(&self, settled: &FileContent) -> SettledOutcome {
        let Ok(source) = self.live.source() else { return SettledOutcome::Done };
        let _turn = self.live.turn.lock();
        // Meanwhile somebody may have begun to write it anew, or it was read by another way.
        if FileContent::of(&source.path) != *settled {
            return SettledOutcome::Stale;
        }
        let state = self.reload_state();
        let is_known = settled.bytes().is_some_and(|bytes| state.last_digest() == Some(&digest(bytes)));
        if !is_known || !self.awaited().is_empty() {
            // It is logged, and in the state.
            let _known = self.take(source, settled, Reporting::Changes);
        }
        SettledOutcome::Done
    }

    /// Applies the rules of the file with the overrides that fit them.
    pub(super) fn renew(&self, now: &mut InForce) {
        let policy = now.overrides.over(&now.file, self.gate().now_ms());
        self.gate().replace(policy);
    }

    fn awaited(&self) -> Vec<PathBuf> {
        self.live.now.lock().awaited.clone()
    }
}

/// Looks at the policy's file, and takes what it holds when it has changed and has settled. Never returns.
pub(crate) async fn watch<C: Clock + 'static>(runtime: Arc<Runtime<C>>) {
    let Some(path) = runtime.policy_path() else { return pending().await };
    // What was written since the start is a change, too.
    let mut watched = WatchedFiles::anew(vec![path.to_owned()]);
    let mut awaited = Vec::new();
    loop {
        watched.changed().await;
        let (taking, content) = (Arc::clone(&runtime), watched.content(0));
        if let Ok(SettledOutcome::Stale) = spawn_blocking(move || taking.reload_settled(&content)).await {
            watched.repeat();
        }
        // A file that is only refused for its certificates is tried again when these change.
        if runtime.awaited() != awaited {
            awaited = runtime.awaited();
            let paths = [path.to_owned()].into_iter().chain(awaited.iter().cloned()).collect();
            let Ok(all) = spawn_blocking(|| WatchedFiles::anew(paths)).await else { return };
            watched = all;
        }
    }
}
