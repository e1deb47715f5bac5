//! Startup: the snapshot file is locked, checked, and restored or set aside.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use slidegate::store::memory::SnapshotError;
use slidegate::{Clock, Memory, SystemClock};

use super::own_file;
use super::own_file::Purpose;
use super::{RestoreOutcome, SnapshotState, Snapshots, due_at_ms};
use crate::config::error::ConfigError;
use crate::config::snapshot_error::SnapshotStartError;
use crate::config::{StoreKind, StoreSettings};

/// Store restored from its file, if the settings name one.
pub(crate) fn open(settings: &StoreSettings) -> Result<Option<(Memory, Snapshots)>, ConfigError> {
    let StoreKind::Memory = settings.kind else { return Ok(None) };
    let Some(path) = &settings.snapshot else { return Ok(None) };
    let (path, interval) = (PathBuf::from(path), settings.snapshot_interval);
    let lock = lock(&path)?;
    Memory::may_save(&path)
        .map_err(|source| SnapshotStartError::NotWritable { path: path.clone(), source })?;
    let (memory, restored) = restore(&path, settings.max_memory)?;
    let last_saved_at_ms = match restored {
        RestoreOutcome::Keys(_) => fs::metadata(&path).and_then(|found| found.modified()).ok().map(unix_ms),
        RestoreOutcome::Nothing | RestoreOutcome::SetAside(_) => None,
    };
    let state = SnapshotState {
        path,
        restored,
        last_saved_at_ms,
        due_at_ms: due_at_ms(SystemClock::new().now_ms(), interval),
        saves: 0,
        failures: 0,
        last_error: None,
    };
    let saving = Mutex::new(());
    Ok(Some((memory, Snapshots { interval, state: Mutex::new(state), saving, _lock: lock })))
}

/// Locks the file of this process. The system releases the lock when the process ends. The lock
/// file stays: if it were removed, two processes could lock different files of the same name.
fn lock(path: &Path) -> Result<File, SnapshotStartError> {
    let name = beside(path, ".lock");
    let not_writable = |source| SnapshotStartError::NotWritable { path: name.clone(), source };
    let mut options = OpenOptions::new();
    options.write(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = own_file::open(&name, &options, Purpose::Lock).map_err(not_writable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(SnapshotStartError::InUse(path.to_owned())),
        Err(TryLockError::Error(source)) => Err(not_writable(source)),
    }
}

/// Store with the content of the file. A damaged file is set aside and not used.
fn restore(path: &Path, max_memory: usize) -> Result<(Memory, RestoreOutcome), SnapshotStartError> {
    let not_read = |source| SnapshotError::Io { path: path.to_owned(), source };
    let file = own_file::open(path, OpenOptions::new().read(true), Purpose::Snapshot).map_err(not_read);
    let problem = match file.and_then(|file| Memory::load_file(file, path, max_memory)) {
        Ok(memory) => {
            let keys = memory.stats().keys;
            return Ok((memory, RestoreOutcome::Keys(keys)));
        }
        Err(SnapshotError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok((Memory::new(max_memory), RestoreOutcome::Nothing));
        }
        Err(SnapshotError::Io { path, source }) => {
            return Err(SnapshotStartError::NotReadable { path, source });
        }
        Err(SnapshotError::Foreign(_)) => "is not a snapshot of this version",
        Err(_) => "is damaged",
    };
    let aside = free_name(path);
    fs::rename(path, &aside)
        .map_err(|source| SnapshotStartError::NotWritable { path: aside.clone(), source })?;
    tracing::error!(
        "snapshot {} {problem} and was not used: starting empty. It was moved to {}: restore an earlier copy, or \
         delete it",
        path.display(),
        aside.display()
    );
    Ok((Memory::new(max_memory), RestoreOutcome::SetAside(aside)))
}

/// Unused name with the current time.
fn free_name(path: &Path) -> PathBuf {
    let now_ms = SystemClock::new().now_ms();
    let mut names = (now_ms..).map(|ms| beside(path, &format!(".damaged-{ms}")));
    names.find(|name| name.symlink_metadata().is_err()).expect("there is always an unused name")
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

fn unix_ms(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
