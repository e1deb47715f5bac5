//! The certificates of all listeners.

use std::sync::Arc;

use slidegate::Clock;
use slidegate::policy::file::{self, Entrance, Server};

use super::{Read, Tls, TlsState};
use crate::app::App;
use crate::config::ConfigError;
use crate::door::Door;

/// One for every listener that has TLS.
#[derive(Default)]
pub(crate) struct Certificates {
    check: Option<Arc<Tls>>,
    grpc: Option<Arc<Tls>>,
    resp: Option<Arc<Tls>>,
    admin: Option<Arc<Tls>>,
}

impl Certificates {
    pub(crate) fn load(server: &Server) -> Result<Self, ConfigError> {
        let load = |setting, tls: Option<&file::Tls>, protocol: &'static [u8]| {
            tls.map(|tls| Tls::load(setting, tls, protocol).map(Arc::new)).transpose()
        };
        let of = |entrance: &'_ Option<Entrance>| entrance.as_ref().and_then(|entrance| entrance.tls.clone());
        let admin = server.admin.as_ref().and_then(|admin| admin.tls.as_ref());
        Ok(Self {
            check: load("server.tls", server.tls.as_ref(), b"http/1.1")?,
            grpc: load("server.grpc.tls", of(&server.grpc).as_ref(), b"h2")?,
            // It has no name there.
            resp: load("server.resp.tls", of(&server.resp).as_ref(), b"")?,
            admin: load("server.admin.tls", admin, b"http/1.1")?,
        })
    }

    /// `None`: that listener speaks plainly.
    pub(crate) fn of(&self, door: Door) -> Option<&Arc<Tls>> {
        match door {
            Door::Check => self.check.as_ref(),
            Door::Grpc => self.grpc.as_ref(),
            Door::Resp => self.resp.as_ref(),
            Door::Admin => self.admin.as_ref(),
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Tls>> {
        self.check.iter().chain(&self.grpc).chain(&self.resp).chain(&self.admin)
    }

    /// Reads all files again; how many listeners have another certificate now, or all that is wrong.
    async fn reload(&self) -> Result<usize, Vec<ConfigError>> {
        let all: Vec<Arc<Tls>> = self.all().cloned().collect();
        let reading = tokio::task::spawn_blocking(move || {
            let read = all.iter().map(|tls| tls.reload().map_err(|error| (tls.setting, error)));
            read.collect::<Vec<_>>()
        });
        let read = reading.await.expect("reading files does not panic");
        let mut taken = 0;
        let mut errors = Vec::new();
        for one in read {
            match one {
                Ok(Read::Taken) => taken += 1,
                Ok(Read::Unchanged) => {}
                Err((setting, error)) => errors.push(ConfigError::Tls { setting, error }),
            }
        }
        if errors.is_empty() { Ok(taken) } else { Err(errors) }
    }
}

impl<C: Clock> App<C> {
    /// Reads the certificates of all listeners again: how many have another one now, or all that is wrong. Where something
    /// is, the one from before stays in use. Connections that are open keep theirs.
    pub async fn reload_certificates(&self) -> Result<usize, Vec<ConfigError>> {
        self.certificates.reload().await
    }

    /// The certificate of every listener that has TLS.
    pub fn tls_state(&self) -> Vec<TlsState> {
        self.certificates.all().map(|tls| tls.state()).collect()
    }
}
