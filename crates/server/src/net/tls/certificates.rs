//! Certificates of all listeners.

use std::path::PathBuf;
use std::sync::Arc;

use slidegate::policy::file::{self, ListenerSettings, Server};

use super::{ListenerTls, ReloadOutcome};
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
    pub(crate) fn load(server: &Server) -> Result<Self, ConfigError> {
        let load = |setting, tls: Option<&file::Tls>, protocol: &'static [u8]| {
            tls.map(|tls| ListenerTls::load(setting, tls, protocol).map(Arc::new)).transpose()
        };
        let of = |entrance: &'_ Option<ListenerSettings>| {
            entrance.as_ref().and_then(|entrance| entrance.tls.clone())
        };
        let admin = server.admin.as_ref().and_then(|admin| admin.tls.as_ref());
        Ok(Self {
            check: load("server.tls", server.tls.as_ref(), b"http/1.1")?,
            grpc: load("server.grpc.tls", of(&server.grpc).as_ref(), b"h2")?,
            // The protocol of Redis has no ALPN name.
            resp: load("server.resp.tls", of(&server.resp).as_ref(), b"")?,
            admin: load("server.admin.tls", admin, b"http/1.1")?,
        })
    }

    /// All files in the settings.
    pub(crate) fn files(server: &Server) -> Vec<PathBuf> {
        let entrances =
            [&server.grpc, &server.resp].map(|entrance| entrance.as_ref().and_then(|one| one.tls.as_ref()));
        let admin = server.admin.as_ref().and_then(|admin| admin.tls.as_ref());
        let all = [server.tls.as_ref(), admin].into_iter().chain(entrances).flatten();
        let named = all.flat_map(|tls| [&tls.certificate, &tls.key].into_iter().chain(&tls.client_ca));
        named.filter_map(|file| file.value.as_ref().map(PathBuf::from)).collect()
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
                Ok(ReloadOutcome::Taken) => reload.changed.push(setting),
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
