//! Certificates of all listeners.

use std::path::PathBuf;
use std::sync::Arc;

use super::{ListenerTls, ReloadOutcome};
use crate::config::ServerSettings;
use crate::config::error::ConfigError;
use crate::config::listener::Listener;

/// Certificates, one for each listener with TLS.
#[derive(Default)]
pub(crate) struct Certificates {
    check: Option<Arc<ListenerTls>>,
    grpc: Option<Arc<ListenerTls>>,
    resp: Option<Arc<ListenerTls>>,
    admin: Option<Arc<ListenerTls>>,
}

impl Certificates {
    pub(crate) fn load(server: &ServerSettings) -> Result<Self, ConfigError> {
        let load = |listener: Listener, setting, protocol: &'static [u8]| {
            listener
                .tls(server)
                .map(|tls| ListenerTls::load(setting, tls, protocol).map(Arc::new))
                .transpose()
        };
        Ok(Self {
            check: load(Listener::Http, "server.tls", b"http/1.1")?,
            grpc: load(Listener::Grpc, "server.grpc.tls", b"h2")?,
            // The protocol of Redis has no ALPN name.
            resp: load(Listener::Resp, "server.resp.tls", b"")?,
            admin: load(Listener::Admin, "server.admin.tls", b"http/1.1")?,
        })
    }

    /// All files in the settings.
    pub(crate) fn files(server: &ServerSettings) -> Vec<PathBuf> {
        let all = Listener::ALL.into_iter().filter_map(|listener| listener.tls(server));
        let named = all.flat_map(|tls| [&tls.certificate, &tls.key].into_iter().chain(&tls.client_ca));
        named.map(PathBuf::from).collect()
    }

    /// Certificate of a listener; `None` if it has no TLS.
    pub(crate) fn of(&self, listener: Listener) -> Option<&Arc<ListenerTls>> {
        match listener {
            Listener::Http => self.check.as_ref(),
            Listener::Grpc => self.grpc.as_ref(),
            Listener::Resp => self.resp.as_ref(),
            Listener::Admin => self.admin.as_ref(),
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<ListenerTls>> {
        self.check.iter().chain(&self.grpc).chain(&self.resp).chain(&self.admin)
    }

    /// Reads all files again. An error in one does not affect the others.
    pub(crate) async fn reload(&self) -> CertificateReload {
        let all: Vec<Arc<ListenerTls>> = self.all().cloned().collect();
        let reading = tokio::task::spawn_blocking(move || {
            all.iter().map(|tls| (tls.setting, tls.reload())).collect::<Vec<_>>()
        });
        let mut reload = CertificateReload::default();
        for (setting, read) in reading.await.expect("reading files does not panic") {
            match read {
                Ok(ReloadOutcome::Changed) => reload.changed.push(setting),
                Ok(ReloadOutcome::Unchanged) => {}
                Err(error) => reload.errors.push(ConfigError::Tls { setting, error }),
            }
        }
        reload
    }
}

/// Outcome of reloading certificates.
#[derive(Default)]
pub(crate) struct CertificateReload {
    /// Settings of the listeners with a new certificate.
    pub(crate) changed: Vec<&'static str>,
    pub(crate) errors: Vec<ConfigError>,
}
