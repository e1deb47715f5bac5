//! Files owned by the user of the process: no symbolic links, and no files of other users.
//! Otherwise a user with access to the directory could choose what the server reads, overwrites or
//! locks.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Opens a file. A link or a file of another user is an [`ErrorKind::PermissionDenied`].
pub(super) fn open(path: &Path, options: &OpenOptions, purpose: Purpose) -> io::Result<File> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && purpose == Purpose::Lock => {
            // `create_new` does not follow a link that appears meanwhile.
            return options.clone().create_new(true).open(path);
        }
        found => found?,
    };
    check(&found, purpose)?;
    let file = options.open(path)?;
    let opened = file.metadata()?;
    check(&opened, purpose)?;
    if is_same(&found, &opened) { Ok(file) } else { Err(refused("it was replaced while it was opened")) }
}

/// Purpose of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// Lock file, created if it does not exist. It may have further names (hard links of a backup),
    /// because it is neither read nor overwritten.
    Lock,
    /// Snapshot to read. It must exist, under one name only.
    Snapshot,
}

fn refused(why: &str) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, why)
}

fn check(found: &Metadata, purpose: Purpose) -> io::Result<()> {
    if found.is_symlink() {
        return Err(refused("it is a symbolic link"));
    }
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        return Err(refused("it is not a file"));
    }
    check_owner(found, purpose)
}

#[cfg(unix)]
fn check_owner(found: &Metadata, purpose: Purpose) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;

    let own = rustix::process::geteuid().as_raw();
    if found.uid() != own {
        let why = format!("it belongs to the user {}, and slidegate runs as {own}", found.uid());
        return Err(refused(&why));
    }
    if purpose == Purpose::Snapshot && found.nlink() > 1 {
        return Err(refused("it has another name (a hard link)"));
    }
    Ok(())
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn check_owner(_found: &Metadata, _purpose: Purpose) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn is_same(_one: &Metadata, _other: &Metadata) -> bool {
    true
}
