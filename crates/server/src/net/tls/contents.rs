//! Files of an identity, and their contents.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::config::pem;
use crate::config::tls_error::TlsError;

/// Files of an identity: a certificate, its key and the authorities of clients.
#[derive(Clone, Debug)]
pub(crate) struct IdentityFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    /// Authorities of clients.
    pub(crate) client_ca: Option<PathBuf>,
}

/// Contents of the files.
pub(crate) struct IdentityContents {
    pub(crate) certificate: Arc<[u8]>,
    pub(crate) key: Arc<[u8]>,
    pub(crate) client_ca: Option<Arc<[u8]>>,
}

impl IdentityFiles {
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        [&self.certificate, &self.key].into_iter().chain(&self.client_ca).cloned().collect()
    }

    pub(crate) fn read(&self) -> Result<IdentityContents, TlsError> {
        self.gather(|_, path| pem::read(path).map_err(|error| error.to_string()))
    }

    /// Contents of the files, read by the index of [`Self::paths`].
    pub(crate) fn gather(
        &self,
        read: impl Fn(usize, &Path) -> Result<Arc<[u8]>, String>,
    ) -> Result<IdentityContents, TlsError> {
        let read = |index, path: &Path| {
            read(index, path).map_err(|why| TlsError::Unreadable { path: path.to_owned(), why })
        };
        Ok(IdentityContents {
            certificate: read(0, &self.certificate)?,
            key: read(1, &self.key)?,
            client_ca: self.client_ca.as_deref().map(|path| read(2, path)).transpose()?,
        })
    }

    /// Warns if other users can read the private key: they could impersonate the server.
    #[cfg(unix)]
    pub(crate) fn warn_of_open_key(&self, setting: &'static str) {
        use std::os::unix::fs::PermissionsExt;

        let mode = std::fs::metadata(&self.key).map_or(0, |of| of.permissions().mode());
        if mode & 0o077 != 0 {
            let path = self.key.display();
            tracing::warn!(
                setting,
                "other users can read the private key in {path} (mode {:03o}): `chmod 600 {path}`",
                mode & 0o777
            );
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn warn_of_open_key(&self, _setting: &'static str) {}
}

impl IdentityContents {
    pub(crate) fn digest(&self) -> [u8; 32] {
        let parts = [Some(&self.certificate), Some(&self.key), self.client_ca.as_ref()];
        let mut all = Sha256::new();
        for part in parts.into_iter().flatten() {
            all.update((part.len() as u64).to_be_bytes());
            all.update(part);
        }
        all.finalize().into()
    }
}
