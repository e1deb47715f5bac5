//! The files of a certificate, and what they hold.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::TlsError;
use crate::runtime::file_watch::{Content, Watched};

/// Larger than any bundle of authorities.
const MAX_BYTES: u64 = 4 << 20;

/// Where a certificate is.
#[derive(Clone, Debug)]
pub(super) struct Files {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    /// Authorities of clients.
    pub(super) client_ca: Option<PathBuf>,
}

/// What stands in the files.
pub(super) struct Contents {
    pub(super) certificate: Arc<[u8]>,
    pub(super) key: Arc<[u8]>,
    pub(super) client_ca: Option<Arc<[u8]>>,
}

impl Files {
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        [&self.certificate, &self.key].into_iter().chain(&self.client_ca).cloned().collect()
    }

    pub(super) fn read(&self) -> Result<Contents, TlsError> {
        self.gather(|_, path| read(path).map_err(|error| error.to_string()))
    }

    /// What was seen in them once they had settled.
    pub(super) fn watched(&self, watched: &Watched) -> Result<Contents, TlsError> {
        self.gather(|index, _| match watched.content(index) {
            Content::Bytes(bytes) => Ok(bytes),
            Content::Missing => Err("there is no such file".to_owned()),
            Content::Unreadable(why) => Err(why),
        })
    }

    /// By the indices of [`Self::paths`].
    fn gather(&self, read: impl Fn(usize, &Path) -> Result<Arc<[u8]>, String>) -> Result<Contents, TlsError> {
        let read = |index, path: &Path| {
            read(index, path).map_err(|why| TlsError::Unreadable { path: path.to_owned(), why })
        };
        Ok(Contents {
            certificate: read(0, &self.certificate)?,
            key: read(1, &self.key)?,
            client_ca: self.client_ca.as_deref().map(|path| read(2, path)).transpose()?,
        })
    }

    /// Whoever can read the key can be the server.
    #[cfg(unix)]
    pub(super) fn warn_of_open_key(&self, setting: &'static str) {
        use std::os::unix::fs::PermissionsExt;

        let mode = std::fs::metadata(&self.key).map_or(0, |of| of.permissions().mode());
        if mode & 0o077 != 0 {
            let path = self.key.display();
            tracing::warn!(
                setting,
                "other users may read the private key in {path} (mode {:03o}): `chmod 600 {path}`",
                mode & 0o777
            );
        }
    }

    #[cfg(not(unix))]
    pub(super) fn warn_of_open_key(&self, _setting: &'static str) {}
}

impl Contents {
    pub(super) fn digest(&self) -> [u8; 32] {
        let parts = [Some(&self.certificate), Some(&self.key), self.client_ca.as_ref()];
        let mut all = Sha256::new();
        for part in parts.into_iter().flatten() {
            all.update((part.len() as u64).to_be_bytes());
            all.update(part);
        }
        all.finalize().into()
    }
}

pub(super) fn read(path: &Path) -> io::Result<Arc<[u8]>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {} MiB", MAX_BYTES >> 20)));
    }
    Ok(bytes.into())
}
