//! State that all listeners share.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

use super::byte_budget::ByteBudget;
use super::connections::{Capacity, ConnectionCounts, ConnectionStats, OpenFiles, Turns};
use super::tls::Certificates;
use crate::config::ServerSettings;
use crate::config::listener::Listener;

/// State that all listeners share.
pub(crate) struct Network {
    settings: ArcSwap<ServerSettings>,
    pub(crate) certificates: Certificates,
    pub(crate) counts: ConnectionCounts,
    /// Turns of connections that always have more to do.
    pub(crate) turns: Turns,
    /// Bytes of incomplete calls on all connections.
    pub(crate) incomplete_calls: ByteBudget,
    /// File descriptors of the process, if there is a limit.
    open_files: Option<OpenFiles>,
}

impl Network {
    pub(crate) fn new(settings: ServerSettings, certificates: Certificates) -> Self {
        Self {
            settings: ArcSwap::from_pointee(settings),
            certificates,
            counts: ConnectionCounts::default(),
            turns: Turns::new(),
            incomplete_calls: ByteBudget::of_all(),
            open_files: None,
        }
    }

    /// Divides file descriptors among the listeners.
    pub(crate) fn open_files(self, allowed: u64, server: &ServerSettings) -> Self {
        let open_files = OpenFiles::new(allowed, server);
        open_files.warn(&self.settings().connections);
        Self { open_files: Some(open_files), ..self }
    }

    /// Settings in force. Cheap: no reference is counted.
    #[inline]
    pub(crate) fn settings(&self) -> Guard<Arc<ServerSettings>> {
        self.settings.load()
    }

    pub(crate) fn set_settings(&self, settings: ServerSettings) {
        self.open_files.inspect(|open_files| open_files.warn(&settings.connections));
        self.settings.store(Arc::new(settings));
    }

    /// Number of connections that a listener may have.
    pub(crate) fn capacity(&self, listener: Listener) -> Capacity {
        let settings = self.settings();
        match self.open_files {
            Some(open_files) => open_files.capacity(&settings.connections, listener),
            None => Capacity::configured(&settings.connections),
        }
    }

    pub(crate) fn stats(&self) -> ConnectionStats {
        self.counts.stats()
    }
}
