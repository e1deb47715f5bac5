//! Certificates while the server runs: reloaded when their files change, with a warning before they
//! expire.

use std::sync::Arc;
use std::time::Duration;

use slidegate::Clock;
use tokio::task::JoinSet;

use super::Runtime;
use super::file_watch::{FileContent, WatchedFiles};
use crate::config::error::ConfigError;
use crate::net::network::Network;
use crate::net::tls::{CertificateReload, ListenerTls, TlsState};

/// Interval of warnings about certificates that expire soon.
const WARNING_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

impl<C: Clock> Runtime<C> {
    /// Reloads the certificates of all listeners. Returns the number of changed ones, or all
    /// errors. On an error the previous certificate stays in use. Open connections keep theirs.
    pub async fn reload_certificates(&self) -> Result<usize, Vec<ConfigError>> {
        let CertificateReload { changed, errors } = self.network().certificates.reload().await;
        if errors.is_empty() { Ok(changed.len()) } else { Err(errors) }
    }

    /// Certificates of all listeners with TLS.
    pub fn tls_state(&self) -> Vec<TlsState> {
        self.network().certificates.all().map(|tls| tls.state()).collect()
    }
}

/// Reloads certificates whose files change, and warns of those that expire soon. Never returns.
pub(crate) async fn watch(network: Arc<Network>) {
    let mut all = JoinSet::new();
    for tls in network.certificates.all() {
        all.spawn(follow(Arc::clone(tls)));
        all.spawn(remind(Arc::clone(tls)));
    }
    drop(network);
    while all.join_next().await.is_some() {}
    std::future::pending::<()>().await;
}

/// Reloads a certificate when its files change. Their first content counts as a change too: it may
/// differ from the one at startup.
async fn follow(tls: Arc<ListenerTls>) {
    let paths = tls.files.paths();
    let Ok(mut watched) = tokio::task::spawn_blocking(|| WatchedFiles::new(paths)).await else { return };
    loop {
        watched.changed().await;
        let contents = tls.files.gather(|index, _| match watched.content(index) {
            FileContent::Bytes(bytes) => Ok(bytes),
            FileContent::Missing => Err("no such file".to_owned()),
            FileContent::Unreadable(why) => Err(why),
        });
        // An error is in the log and in the state.
        let _logged = tls.take(contents);
    }
}

async fn remind(tls: Arc<ListenerTls>) {
    loop {
        tokio::time::sleep(WARNING_INTERVAL).await;
        tls.warn_of_expiry();
    }
}
