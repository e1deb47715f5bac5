//! A service with certificates, on a port of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use slidegate::SystemClock;
use slidegate_server::{ConfigError, Listeners, Runtime, TlsState};
use slidegate_testkit::certificates::CertificateFiles;

use crate::service::{RunningServer, config, listener};

const RULES: &str = "rules: [{ name: api, key: [user], limits: [1000000/min] }]";

/// More than a change of files may take to be noticed: five times two seconds.
const DEADLINE: Duration = Duration::from_secs(10);

pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    pub(crate) app: Arc<Runtime<SystemClock>>,
    server: RunningServer,
}

/// Whether clients need a certificate of the authority in the file `ca.crt`.
#[derive(Clone, Copy)]
pub(crate) enum Clients {
    Anybody,
    Trusted,
}

/// The settings of TLS for these files.
pub(crate) fn settings(files: &CertificateFiles, clients: Clients) -> String {
    let path = |name| files.path(name).display().to_string();
    let ca = match clients {
        Clients::Anybody => String::new(),
        Clients::Trusted => format!(", client_ca: {:?}", path("ca.crt")),
    };
    format!("{{ certificate: {:?}, key: {:?}{ca} }}", path("tls.crt"), path("tls.key"))
}

pub(crate) fn app(server: &str) -> Result<Runtime, ConfigError> {
    Runtime::new(config(&format!("server:\n{server}\n{RULES}")))
}

impl Service {
    pub(crate) async fn start(files: &CertificateFiles, clients: Clients) -> Self {
        Self::with(&format!("  tls: {}", settings(files, clients))).await
    }

    /// With these settings of `server`.
    pub(crate) async fn with(server: &str) -> Self {
        let app = Arc::new(app(server).unwrap_or_else(|error| panic!("{error}")));
        let (http, address) = listener().await;
        let listeners = Listeners { http, grpc: None, resp: None, admin: None };
        let server = RunningServer::start(&app, listeners);
        Self { address, app, server }
    }

    /// Tells it to end.
    pub(crate) fn stop(&mut self) {
        self.server.stop();
    }

    /// Completes when it has ended.
    pub(crate) async fn ended(&mut self) {
        (&mut self.server.task).await.expect("an end");
    }

    pub(crate) fn state(&self) -> TlsState {
        self.app.tls_state().swap_remove(0)
    }

    /// Waits until the state is so.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&TlsState) -> bool) {
        let began = Instant::now();
        while !is_so(&self.state()) {
            assert!(began.elapsed() < DEADLINE, "{what}: {:?}", self.state());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.server.task.abort();
    }
}
