//! Admission of connections: one beyond the limit takes the slot of the longest idle one, or is
//! surplus.
//!
//! A surplus connection is served for a short time, and only to be refused. The responses are in
//! `protocols/overload.rs`.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::connections::{ConnectionSlot, ConnectionSlots, Event, OpenConnections, Shortage};
use super::network::Network;
use crate::config::listener::Listener;
use crate::telemetry::log_throttle::LogThrottle;

/// Time that a surplus connection has to send a request and to be refused.
pub(super) const SURPLUS_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of idle connections that are closed for a new one. One is enough, unless a reload
/// has lowered the limit.
const MAX_RECLAIMS: usize = 16;

/// Admission to a listener: finds a slot for each new connection.
pub(super) struct ConnectionAdmission {
    pub(super) network: Arc<Network>,
    pub(super) connections: Arc<OpenConnections>,
    pub(super) slots: Arc<ConnectionSlots>,
    pub(super) listener: Listener,
    dropped: LogThrottle,
    turned_away: LogThrottle,
    reclaimed: LogThrottle,
}

impl ConnectionAdmission {
    pub(super) fn new(network: Arc<Network>, listener: Listener) -> Self {
        Self {
            network,
            connections: Arc::default(),
            slots: Arc::default(),
            listener,
            dropped: LogThrottle::default(),
            turned_away: LogThrottle::default(),
            reclaimed: LogThrottle::default(),
        }
    }

    /// Slot for a connection from an address; `None` if it has to be closed.
    pub(super) fn slot(&mut self, peer: IpAddr) -> Option<ConnectionSlot> {
        self.regular_slot(peer).or_else(|| self.surplus_slot(peer))
    }

    /// Slot of a connection within the limits, if necessary that of the connection that has been
    /// idle for longest. No connection is closed for an address that has reached its own limit.
    fn regular_slot(&mut self, peer: IpAddr) -> Option<ConnectionSlot> {
        let (settings, capacity) = (self.network.settings(), self.network.capacity(self.listener));
        for _ in 0..MAX_RECLAIMS {
            match self.slots.regular(&settings.connections, capacity, peer) {
                Ok(slot) => return Some(slot),
                Err(Shortage::Address) => return None,
                Err(Shortage::Total) => {}
            }
            if !self.connections.reclaim_idle(&self.slots, capacity) {
                return None;
            }
            self.network.counts.add(Event::EndedForRoom);
            if let Some(times) = self.reclaimed.note() {
                tracing::warn!(times, last = %peer, "too many connections: closing the longest idle");
            }
        }
        self.slots.regular(&settings.connections, capacity, peer).ok()
    }

    /// Slot of a surplus connection, if necessary that of the oldest one.
    fn surplus_slot(&mut self, peer: IpAddr) -> Option<ConnectionSlot> {
        let counts = &self.network.counts;
        let capacity = self.network.capacity(self.listener);
        let mut slot = self.slots.surplus(capacity);
        if slot.is_none() {
            counts.add(Event::Dropped);
            if let Some(times) = self.dropped.note() {
                tracing::warn!(times, last = %peer, "too many connections: closed without a response");
            }
            slot = self
                .connections
                .reclaim_surplus(&self.slots, capacity)
                .then(|| self.slots.surplus(capacity))
                .flatten();
        }
        if slot.is_some() {
            counts.add(Event::TurnedAway);
            if let Some(times) = self.turned_away.note() {
                tracing::warn!(times, last = %peer, "too many connections: refused with a retry");
            }
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;
    use crate::config::{Config, ServerSettings};
    use crate::net::connections::Progress;
    use crate::net::tls::Certificates;

    fn settings(max: usize) -> ServerSettings {
        let text = format!("version: 1\nserver: {{ connections: {{ max: {max} }} }}\nrules: []\n");
        Config::parse("test.yaml", &text).unwrap_or_else(|errors| panic!("{errors}")).settings.server
    }

    /// After a reload to fewer connections a new one closes more than one idle connection.
    #[tokio::test(start_paused = true)]
    async fn a_smaller_maximum_frees_slots_for_new_connections() {
        for (before, after) in [(6, 6), (12, 6), (100, 6)] {
            let network = Arc::new(Network::new(settings(before), Certificates::default()));
            let mut admission = ConnectionAdmission::new(Arc::clone(&network), Listener::Http);
            let peer = IpAddr::from([203, 0, 113, 7]);
            let mut members = Vec::new();
            for _ in 0..before {
                let slot = admission.regular_slot(peer).expect("a slot");
                let joined = admission.connections.join(Progress::new(), Waker::noop().clone(), &slot);
                members.push((joined, slot));
            }
            tokio::time::advance(Duration::from_secs(2)).await;
            network.set_settings(settings(after));
            let attempts = (1..).find(|_| admission.regular_slot(peer).is_some()).expect("a slot");
            assert!(
                attempts <= 1 + (before - after) / MAX_RECLAIMS,
                "{attempts} attempts for one slot: {before} to {after}"
            );
            let ended = network.stats().ended_for_room;
            assert_eq!(ended as usize, 1 + before - after, "{before} to {after}");
        }
    }
}
