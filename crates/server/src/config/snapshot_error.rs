//! Errors of the file of `store.snapshot` at startup.

use std::io;
use std::path::PathBuf;

/// Error of `store.snapshot` at startup: otherwise it would surface when the snapshot is needed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotStartError {
    /// Another process has it: they would overwrite each other's.
    #[error("{} is in use by another process: stop that one, or give each its own path", .0.display())]
    InUse(PathBuf),
    /// Nothing can be written there.
    #[error(
        "{} cannot be written: {source}. Let the user that slidegate runs as create files in that directory, or choose \
         another one; links and files of others are not used",
        path.display()
    )]
    NotWritable {
        /// The file that was tried.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// There is something that cannot be read.
    #[error(
        "{} cannot be read: {source}. Give it to the user that slidegate runs as, or move it away to start empty; links and \
         files of others are not used",
        path.display()
    )]
    NotReadable {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}
