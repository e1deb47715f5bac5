//! Snapshots of the memory store: restored at startup, saved at an interval and at shutdown.
//!
//! A killed process loses the counts since the last snapshot, and nothing else: the file is
//! replaced atomically.

mod own_file;
mod startup;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use slidegate::{Clock, Memory};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::Runtime;
use super::backend::Backend;

pub(crate) use startup::open;

/// State of the snapshots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SnapshotState {
    /// The file.
    pub path: PathBuf,
    /// Content of the file at startup.
    pub restored: RestoreOutcome,
    /// Time of the last write, by this process or by the one whose file was restored.
    pub last_saved_at_ms: Option<u64>,
    /// Time of the next write: an interval after the last one of this process, or after its start.
    pub due_at_ms: u64,
    /// Number of writes since startup.
    pub saves: u64,
    /// Number of failed writes since startup.
    pub failures: u64,
    /// Error of the last attempt, if it failed.
    pub last_error: Option<String>,
}

/// Content of a snapshot file at startup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RestoreOutcome {
    /// There was no file.
    Nothing,
    /// Number of keys in the file.
    Keys(usize),
    /// The file was damaged or not a snapshot, and was moved here; the store started empty.
    SetAside(PathBuf),
}

/// Snapshot file of this process.
pub(crate) struct Snapshots {
    interval: Duration,
    /// Locked for short times only.
    state: Mutex<SnapshotState>,
    /// Locked while the file is written.
    saving: Mutex<()>,
    /// Lock file, locked until the process ends.
    _lock: File,
}

impl Snapshots {
    pub(crate) fn state(&self) -> SnapshotState {
        self.state.lock().clone()
    }

    /// Writes the file. Logs the first failure, and the recovery.
    pub(crate) fn save(&self, memory: &Memory, now_ms: impl FnOnce() -> u64) {
        let _saving = self.saving.lock();
        let path = self.state.lock().path.clone();
        let now_ms = now_ms();
        let saved = memory.save(&path, now_ms);
        let state = &mut *self.state.lock();
        match saved {
            Ok(()) => {
                if state.last_error.take().is_some() {
                    tracing::warn!("snapshot {}: written again", path.display());
                }
                state.saves += 1;
                state.last_saved_at_ms = Some(now_ms);
                state.due_at_ms = due_at_ms(now_ms, self.interval);
            }
            Err(error) => {
                state.failures += 1;
                if state.last_error.replace(error.to_string()).is_none() {
                    tracing::error!(
                        "{error}; keeping the last snapshot. Free disk space or fix the permissions: counts from \
                         now on are lost if this process is killed"
                    );
                }
            }
        }
    }

    /// Logs which counts are lost at shutdown, if the last snapshot failed.
    fn log_loss(&self, now_ms: u64) {
        let SnapshotState { last_saved_at_ms, last_error: Some(error), .. } = self.state() else { return };
        match last_saved_at_ms.map(|at_ms| now_ms.saturating_sub(at_ms) / 1_000) {
            Some(age_s) => tracing::error!(
                "{error}; counts since the last snapshot, {age_s} s ago, are lost at shutdown"
            ),
            None => {
                tracing::error!("{error}; no snapshot was ever written, so all counts are lost at shutdown");
            }
        }
    }
}

impl<C: Clock> Runtime<C> {
    /// Writes a snapshot. Waits for the disk.
    pub(crate) fn save_snapshot(&self) {
        if let (Some(snapshots), Backend::Memory(memory)) = (&self.snapshots, self.gate().store()) {
            snapshots.save(memory, || self.gate().now_ms());
        }
    }
}

fn due_at_ms(last_ms: u64, interval: Duration) -> u64 {
    last_ms.saturating_add(interval.as_millis() as u64)
}

/// Saves every interval; never returns.
pub(crate) async fn save_regularly<C: Clock + 'static>(runtime: Arc<Runtime<C>>) {
    let Some(interval) = runtime.snapshots.as_ref().map(|snapshots| snapshots.interval) else {
        return std::future::pending().await;
    };
    let mut ticks = interval_at(Instant::now() + interval, interval);
    // A slow disk gets a pause between two snapshots.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        save(&runtime).await;
    }
}

/// Saves the last snapshot, after the last decision and after a save in progress. Always logs a
/// failure.
pub(crate) async fn last<C: Clock + 'static>(runtime: &Arc<Runtime<C>>) {
    if let Some(snapshots) = runtime.snapshots.as_ref() {
        save(runtime).await;
        snapshots.log_loss(runtime.gate().now_ms());
    }
}

/// Saves on a blocking thread.
async fn save<C: Clock + 'static>(runtime: &Arc<Runtime<C>>) {
    let runtime = Arc::clone(runtime);
    // A panic is in the log, and the next save starts again.
    let _: Result<(), _> = tokio::task::spawn_blocking(move || runtime.save_snapshot()).await;
}

#[cfg(test)]
mod tests;
