//! Files that change while the service runs, noticed by looking at them twice a second.
//!
//! Looking also works where nobody tells of changes: on network file systems, over bind mounts, and behind the links that
//! Kubernetes swaps. Links are followed at every look.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// Interval of polls.
const EVERY: Duration = Duration::from_millis(500);
/// After so many looks at the same stamp a content is known by it: two seconds, which is longer than a tick of any
/// file system. Until then a file may be written again without its stamp moving, so it is read.
const LOOKS_UNTIL_TRUSTED: u32 = 5;
/// A file that is read while it is written is read again so often.
const READ_AGAIN: u32 = 10;
/// Larger files are none that the service reads.
const MAX_BYTES: u64 = 16 << 20;

/// Content of a file.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum FileContent {
    Bytes(Arc<[u8]>),
    Missing,
    /// It is there, but cannot be read, for this reason.
    Unreadable(String),
}

impl FileContent {
    /// Content of a file now. It is read again if it changes meanwhile.
    pub(crate) fn of(path: &Path) -> Self {
        let mut content = read(path);
        for _ in 0..READ_AGAIN {
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

/// Files that are looked at until one of them changes.
pub(crate) struct WatchedFiles {
    // Looks are made on a thread for work that blocks, and may outlive the one who asked.
    files: Arc<Mutex<Vec<WatchedFile>>>,
}

impl WatchedFiles {
    /// Watches files; their present content is no change.
    #[cfg(test)]
    fn new(paths: Vec<PathBuf>) -> Self {
        let mut files: Vec<WatchedFile> = paths.into_iter().map(WatchedFile::new).collect();
        files.iter_mut().for_each(WatchedFile::report);
        Self { files: Arc::new(Mutex::new(files)) }
    }

    /// Watches files; their present content counts as a change once it has settled.
    pub(crate) fn anew(paths: Vec<PathBuf>) -> Self {
        Self { files: Arc::new(Mutex::new(paths.into_iter().map(WatchedFile::new).collect())) }
    }

    /// Completes when one of them has changed and all have settled: two looks in a row saw the same. A file that comes or
    /// goes has changed, one that is only touched has not.
    pub(crate) async fn changed(&mut self) {
        loop {
            tokio::time::sleep(EVERY).await;
            let files = Arc::clone(&self.files);
            if let Ok(true) = tokio::task::spawn_blocking(move || look(&mut files.lock())).await {
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

    /// Reports the content once more, as soon as it has settled.
    pub(crate) fn repeat(&self) {
        self.files.lock().iter_mut().for_each(|file| file.reported = None);
    }

    /// One look at all of them; whether there is a change to tell of.
    #[cfg(test)]
    fn look(&self) -> bool {
        look(&mut self.files.lock())
    }
}

fn look(files: &mut [WatchedFile]) -> bool {
    files.iter_mut().for_each(WatchedFile::look);
    let changed = files.iter().all(|file| file.looks > 1) && files.iter().any(WatchedFile::has_changed);
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
    looks: u32,
    /// Content at the last report.
    reported: Option<FileContent>,
}

impl WatchedFile {
    fn new(path: PathBuf) -> Self {
        let (stamp, content) = read(&path);
        Self { path, stamp, content, looks: 1, reported: None }
    }

    fn look(&mut self) {
        if self.looks >= LOOKS_UNTIL_TRUSTED && stamp(&self.path) == self.stamp {
            return;
        }
        let (stamp, content) = read(&self.path);
        if (&stamp, &content) == (&self.stamp, &self.content) {
            self.looks += 1;
        } else {
            *self =
                Self { stamp, content, looks: 1, path: self.path.clone(), reported: self.reported.take() };
        }
    }

    fn has_changed(&self) -> bool {
        self.reported.as_ref() != Some(&self.content)
    }

    fn report(&mut self) {
        self.reported = Some(self.content.clone());
    }
}

/// Stamp of a file: its metadata. Another file under the same name has another stamp.
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

/// The stamp is of the file that is read, whatever is put in its place meanwhile.
fn read(path: &Path) -> (Option<Stamp>, FileContent) {
    match read_bytes(path) {
        Ok((stamp, bytes)) => (Some(stamp), FileContent::Bytes(bytes.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (None, FileContent::Missing),
        Err(error) => (stamp(path), FileContent::Unreadable(error.to_string())),
    }
}

fn read_bytes(path: &Path) -> io::Result<(Stamp, Vec<u8>)> {
    // A pipe would be waited for.
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
