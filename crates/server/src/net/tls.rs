//! TLS of the listeners: certificates are loaded at startup, and again when their files change.
//!
//! A connection stays with its certificate; new ones get the latest. Invalid files change nothing.

mod certificates;
mod contents;
mod expiry;
mod identity;
mod records;
mod validity;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustls::ServerConfig;
use sha2::{Digest, Sha256};
use slidegate::{Clock, SystemClock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::config::TlsSettings;
use crate::config::error::ConfigError;
use crate::config::tls_error::TlsError;
use crate::net::tracked_io::TrackedIo;

pub(crate) use certificates::{CertificateReload, Certificates};

use contents::{IdentityContents, IdentityFiles};
use identity::Identity;
use records::RecordTracker;
use validity::Validity;

/// Time, and number of bytes, for a refused client to read the alert.
const ALERT_TIME: Duration = Duration::from_secs(1);
const ALERT_BYTES: u64 = 64 << 10;

/// TLS of one listener: its certificate, and the files of it.
pub(crate) struct ListenerTls {
    pub(crate) setting: &'static str,
    pub(crate) files: IdentityFiles,
    /// ALPN protocol; empty if it has none.
    protocol: &'static [u8],
    config: ArcSwap<ServerConfig>,
    // One load at a time: the last one is in use.
    last: Mutex<LastLoad>,
    refused: AtomicU64,
}

struct LastLoad {
    digest: [u8; 32],
    validity: Option<Validity>,
    state: TlsState,
}

/// State of a listener's certificate, and of the last load of its files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TlsState {
    /// Setting: `server.tls`, `server.grpc.tls`, `server.resp.tls` or `server.admin.tls`.
    pub setting: &'static str,
    /// File of the certificate.
    pub certificate: PathBuf,
    /// Time of the last successful load.
    pub loaded_at_ms: u64,
    /// Expiry time.
    pub not_after_ms: Option<u64>,
    /// Number of reloads since startup.
    pub reloads: u64,
    /// Number of failed reloads.
    pub failures: u64,
    /// Error of the last reload, if it failed.
    pub last_error: Option<String>,
    /// Number of failed handshakes.
    pub refused: u64,
}

/// Outcome of a reload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReloadOutcome {
    Changed,
    Unchanged,
}

/// Connection after its handshake.
pub(crate) struct AcceptedConnection {
    pub(crate) stream: TlsStream<TrackedIo<TcpStream, RecordTracker>>,
    /// SHA-256 of the client's certificate, if it has one.
    pub(crate) certificate: Option<[u8; 32]>,
}

impl ListenerTls {
    /// Loads the files of a setting, and logs warnings about them.
    pub(crate) fn load(
        setting: &'static str,
        tls: &TlsSettings,
        protocol: &'static [u8],
    ) -> Result<Self, ConfigError> {
        let files = IdentityFiles {
            certificate: PathBuf::from(&tls.certificate),
            key: PathBuf::from(&tls.key),
            client_ca: tls.client_ca.as_ref().map(PathBuf::from),
        };
        let of_setting = |error| ConfigError::Tls { setting, error };
        let contents = files.read().map_err(of_setting)?;
        let identity = Identity::new(&files, &contents, protocol).map_err(of_setting)?;
        let state = TlsState {
            setting,
            certificate: files.certificate.clone(),
            loaded_at_ms: now_ms(),
            not_after_ms: identity.not_after_ms(),
            reloads: 0,
            failures: 0,
            last_error: None,
            refused: 0,
        };
        files.warn_of_open_key(setting);
        expiry::warn(setting, identity.validity, state.loaded_at_ms);
        let last = Mutex::new(LastLoad { digest: contents.digest(), validity: identity.validity, state });
        let config = ArcSwap::new(identity.config);
        Ok(Self { setting, files, protocol, config, last, refused: AtomicU64::new(0) })
    }

    /// Performs the handshake on a new connection. A refused client gets an alert.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<AcceptedConnection> {
        let acceptor = TlsAcceptor::from(self.config.load_full());
        let stream =
            match acceptor.accept(TrackedIo::new(stream, RecordTracker::default())).into_fallible().await {
                Ok(stream) => stream,
                Err((error, stream)) => {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    tracing::debug!(setting = self.setting, %error, "handshake failed");
                    close_after_alert(stream).await;
                    return Err(error);
                }
            };
        let presented = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let certificate = presented.map(|certificate| Sha256::digest(certificate).into());
        Ok(AcceptedConnection { stream, certificate })
    }

    /// Reads the files again. It may block.
    pub(crate) fn reload(&self) -> Result<ReloadOutcome, TlsError> {
        self.take(self.files.read())
    }

    /// Replaces the certificate in use, unless the new one is the same or invalid.
    pub(crate) fn take(&self, read: Result<IdentityContents, TlsError>) -> Result<ReloadOutcome, TlsError> {
        let mut last = self.last.lock();
        let outcome = read.and_then(|contents| {
            let digest = contents.digest();
            if digest == last.digest {
                return Ok(None);
            }
            Ok(Some((digest, Identity::new(&self.files, &contents, self.protocol)?)))
        });
        match outcome {
            Ok(None) => {
                last.state.last_error = None;
                Ok(ReloadOutcome::Unchanged)
            }
            Ok(Some((digest, identity))) => {
                last.digest = digest;
                last.validity = identity.validity;
                last.state.loaded_at_ms = now_ms();
                last.state.not_after_ms = identity.not_after_ms();
                last.state.reloads += 1;
                last.state.last_error = None;
                let setting = self.setting;
                tracing::info!(setting, "new certificate in use for new connections");
                self.files.warn_of_open_key(setting);
                expiry::warn(setting, identity.validity, last.state.loaded_at_ms);
                self.config.store(identity.config);
                Ok(ReloadOutcome::Changed)
            }
            Err(error) => {
                tracing::error!(setting = self.setting, "{error}. Keeping the previous certificate");
                last.state.failures += 1;
                last.state.last_error = Some(error.to_string());
                Err(error)
            }
        }
    }

    /// Logs a warning if the certificate expires soon.
    pub(crate) fn warn_of_expiry(&self) {
        let validity = self.last.lock().validity;
        expiry::warn(self.setting, validity, now_ms());
    }

    pub(crate) fn state(&self) -> TlsState {
        TlsState { refused: self.refused.load(Ordering::Relaxed), ..self.last.lock().state.clone() }
    }
}

/// Closes a refused connection after the client has read the alert. A socket that is closed with
/// unread bytes is reset, and the alert may be lost.
async fn close_after_alert(mut stream: TrackedIo<TcpStream, RecordTracker>) {
    let closed = async {
        stream.shutdown().await?;
        tokio::io::copy(&mut (&mut stream).take(ALERT_BYTES), &mut tokio::io::sink()).await
    };
    let _gone = tokio::time::timeout(ALERT_TIME, closed).await;
}

fn now_ms() -> u64 {
    SystemClock::new().now_ms()
}

#[cfg(test)]
mod tests;
