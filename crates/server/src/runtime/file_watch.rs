//! File watch by polling, twice a second.
//!
//! Polling also works without change notifications: on network file systems, bind mounts, and the
//! symbolic links that Kubernetes swaps. Every poll follows links.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// Interval of polls.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Polls after which an unchanged stamp stands for an unchanged content: two seconds, which is
/// longer than the time resolution of any file system. Until then every poll reads the file.
const POLLS_UNTIL_TRUSTED: u32 = 5;
/// Maximum number of further reads of a file that changes while it is read.
const MAX_REREADS: u32 = 10;
/// Maximum size of a file.
const MAX_BYTES: u64 = 16 << 20;

/// Content of a file.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum FileContent {
    Bytes(Arc<[u8]>),
    Missing,
    /// The file exists but cannot be read, for this reason.
    Unreadable(String),
}

impl FileContent {
    /// Content of a file now. It is read again if it changes meanwhile.
    pub(crate) fn of(path: &Path) -> Self {
        let mut content = read(path);
        for _ in 0..MAX_REREADS {
            if stamp(path) == content.0 {
                break;
            }
            content = read(path);
        }
        content.1
    }

    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Missing | Self::Unreadable(_) => None,
        }
    }
}

/// Files that are polled for changes.
pub(crate) struct WatchedFiles {
    // Shared with the blocking thread that polls, which may outlive the caller.
    files: Arc<Mutex<Vec<WatchedFile>>>,
}

impl WatchedFiles {
    /// Watches files; their current content is no change.
    #[cfg(test)]
    fn after_current(paths: Vec<PathBuf>) -> Self {
        let mut files: Vec<WatchedFile> = paths.into_iter().map(WatchedFile::new).collect();
        files.iter_mut().for_each(WatchedFile::report);
        Self { files: Arc::new(Mutex::new(files)) }
    }

    /// Watches files; their current content counts as a change once it has settled.
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        Self { files: Arc::new(Mutex::new(paths.into_iter().map(WatchedFile::new).collect())) }
    }

    /// Completes when a file has changed and all have settled: two polls in a row found the same
    /// content. A file that appears or disappears has changed; one that is only touched has not.
    pub(crate) async fn changed(&mut self) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let files = Arc::clone(&self.files);
            if let Ok(true) = tokio::task::spawn_blocking(move || poll(&mut files.lock())).await {
                return;
            }
        }
    }

    /// Content of a file at the last reported change.
    pub(crate) fn content(&self, index: usize) -> FileContent {
        let files = self.files.lock();
        let reported = files.get(index).and_then(|file| file.reported.clone());
        reported.unwrap_or(FileContent::Missing)
    }

    /// Reports the content again, as soon as it has settled.
    pub(crate) fn repeat(&self) {
        self.files.lock().iter_mut().for_each(|file| file.reported = None);
    }

    /// Polls all files; returns whether there is a change to report.
    #[cfg(test)]
    fn poll(&self) -> bool {
        poll(&mut self.files.lock())
    }
}

fn poll(files: &mut [WatchedFile]) -> bool {
    files.iter_mut().for_each(WatchedFile::poll);
    let changed = files.iter().all(|file| file.polls > 1) && files.iter().any(WatchedFile::has_changed);
    if changed {
        files.iter_mut().for_each(WatchedFile::report);
    }
    changed
}

/// A watched file: its content at the last poll, and for how many polls in a row.
struct WatchedFile {
    path: PathBuf,
    stamp: Option<Stamp>,
    content: FileContent,
    polls: u32,
    /// Content at the last report.
    reported: Option<FileContent>,
}

impl WatchedFile {
    fn new(path: PathBuf) -> Self {
        let (stamp, content) = read(&path);
        Self { path, stamp, content, polls: 1, reported: None }
    }

    fn poll(&mut self) {
        if self.polls >= POLLS_UNTIL_TRUSTED && stamp(&self.path) == self.stamp {
            return;
        }
        let (stamp, content) = read(&self.path);
        if (&stamp, &content) == (&self.stamp, &self.content) {
            self.polls += 1;
        } else {
            *self =
                Self { stamp, content, polls: 1, path: self.path.clone(), reported: self.reported.take() };
        }
    }

    fn has_changed(&self) -> bool {
        self.reported.as_ref() != Some(&self.content)
    }

    fn report(&mut self) {
        self.reported = Some(self.content.clone());
    }
}

/// Stamp of a file: its metadata. A new file under the same name has another stamp.
#[derive(Clone, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    #[cfg(unix)]
    unix: [i64; 6],
    #[cfg(not(unix))]
    modified: Option<std::time::SystemTime>,
}

impl From<&Metadata> for Stamp {
    #[cfg(unix)]
    fn from(of: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let file = [of.dev() as i64, of.ino() as i64];
        let times = [of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()];
        Self { bytes: of.len(), unix: [file[0], file[1], times[0], times[1], times[2], times[3]] }
    }

    #[cfg(not(unix))]
    fn from(of: &Metadata) -> Self {
        Self { bytes: of.len(), modified: of.modified().ok() }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    fs::metadata(path).ok().as_ref().map(Stamp::from)
}

/// Content of a file, with the stamp of the file that was opened.
fn read(path: &Path) -> (Option<Stamp>, FileContent) {
    match read_bytes(path) {
        Ok((stamp, bytes)) => (Some(stamp), FileContent::Bytes(bytes.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (None, FileContent::Missing),
        Err(error) => (stamp(path), FileContent::Unreadable(error.to_string())),
    }
}

fn read_bytes(path: &Path) -> io::Result<(Stamp, Vec<u8>)> {
    // Opening a pipe would block.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = File::open(path)?;
    let stamp = Stamp::from(&file.metadata()?);
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {} MiB", MAX_BYTES >> 20)));
    }
    Ok((stamp, bytes))
}

#[cfg(test)]
mod tests;
