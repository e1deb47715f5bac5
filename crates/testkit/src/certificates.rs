//! Certificates for tests: an authority that signs them, and directories with their files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SerialNumber, date_time_ymd,
};
use tempfile::TempDir;

/// A certificate and its private key, as PEM.
#[derive(Clone, Debug)]
pub struct Pem {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// The purpose and validity of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// A server, valid now.
    Server,
    /// A server, expired years ago.
    ExpiredServer,
    /// A server, for five more days.
    ExpiringServer,
    /// A client, valid now.
    Client,
    /// A client, expired years ago.
    ExpiredClient,
}

/// Certificate authority of a test.
pub struct Authority {
    /// Its own certificate, as PEM.
    pub certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// An authority with a key of its own.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate").pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// A certificate with this serial number, for 127.0.0.1 and localhost.
    pub fn sign(&self, purpose: Usage, serial: u64) -> Pem {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let mut params = CertificateParams::new(names).expect("names");
        params.serial_number = Some(SerialNumber::from(serial));
        params.use_authority_key_identifier_extension = true;
        params.distinguished_name.push(DnType::CommonName, format!("number {serial}"));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match purpose {
            Usage::Server | Usage::ExpiredServer | Usage::ExpiringServer => {
                ExtendedKeyUsagePurpose::ServerAuth
            }
            Usage::Client | Usage::ExpiredClient => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        match purpose {
            Usage::Server | Usage::Client => {}
            Usage::ExpiredServer | Usage::ExpiredClient => {
                params.not_before = date_time_ymd(2020, 1, 1);
                params.not_after = date_time_ymd(2021, 1, 1);
            }
            Usage::ExpiringServer => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock");
                let five_days = Duration::from_secs(5 * 24 * 60 * 60 + 60 * 60);
                params.not_after = date_time_ymd(1970, 1, 1) + now + five_days;
            }
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Pem { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// Temporary directory with the files of certificates.
pub struct CertificateFiles(TempDir);

impl CertificateFiles {
    /// An empty directory.
    #[allow(clippy::new_without_default, reason = "it makes a directory on the disk")]
    pub fn new() -> Self {
        Self(TempDir::with_prefix("slidegate-tls-").expect("a directory"))
    }

    /// A directory with `tls.crt` and `tls.key`.
    pub fn of(pem: &Pem) -> Self {
        let files = Self::new();
        files.write("tls.crt", &pem.certificate);
        files.write("tls.key", &pem.key);
        files
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file in place: truncated first, readable by its owner alone.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("a file");
    }

    /// Replaces a file with a rename, so that readers find the old text or the new one.
    pub fn replace(&self, name: &str, text: &str) {
        self.write("new", text);
        fs::rename(self.path("new"), self.path(name)).expect("a file in its place");
    }

    /// Mounts a version as Kubernetes mounts secrets: the files are links through `..data`, which a
    /// rename swaps for the next version.
    pub fn mount(&self, version: u64, pem: &Pem) {
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
