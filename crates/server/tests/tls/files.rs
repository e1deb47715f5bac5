//! A directory with the files of a certificate.
#![allow(dead_code, reason = "every program of tests uses a part of it")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use tempfile::TempDir;

use crate::authority::Pem;

pub(crate) struct Files(TempDir);

impl Files {
    pub(crate) fn new() -> Self {
        Self(TempDir::with_prefix("slidegate-tls-").expect("a directory"))
    }

    pub(crate) fn of(pem: &Pem) -> Self {
        let files = Self::new();
        files.write("tls.crt", &pem.certificate);
        files.write("tls.key", &pem.key);
        files
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// In place: cut to nothing, then written.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("a file");
    }

    /// As careful programs do: written beside it, and then put in its place.
    pub(crate) fn replace(&self, name: &str, text: &str) {
        self.write("new", text);
        fs::rename(self.path("new"), self.path(name)).expect("a file in its place");
    }

    /// As Kubernetes mounts secrets: the files are links through `..data`, which is swapped for another one.
    pub(crate) fn mount(&self, version: u64, pem: &Pem) {
        let directory = format!("..{version}");
        fs::create_dir(self.path(&directory)).expect("a directory");
        self.write(&format!("{directory}/tls.crt"), &pem.certificate);
        self.write(&format!("{directory}/tls.key"), &pem.key);
        symlink(&directory, self.path("..data_tmp")).expect("a link");
        fs::rename(self.path("..data_tmp"), self.path("..data")).expect("a link in its place");
        for name in ["tls.crt", "tls.key"] {
            let path = self.path(name);
            if !path.is_symlink() {
                drop(fs::remove_file(&path));
                symlink(format!("..data/{name}"), path).expect("a link");
            }
        }
    }
}
