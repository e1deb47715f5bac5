//! Accept loop of a listener: admits connections until shutdown, and then waits for those in progress.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};

use super::connections::{
    ConnectionSlot, ConnectionSlots, Connections, Event, Order, PAUSE, Pace, Progress, Shortage,
};
use super::network::Network;
use crate::config::listener::Listener;
use crate::telemetry::log_throttle::LogThrottle;

/// Pause after the system failed to accept a connection.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// Time that a surplus connection has to ask and to be refused.
const LANE_TIMEOUT: Duration = Duration::from_secs(2);
/// Time that a client has to read its last response after the shutdown timeout.
const LAST_RESPONSE: Duration = Duration::from_secs(1);
/// Maximum number of idle connections that are closed for a new one. One is enough, unless a reload has lowered the limit.
const MAX_RECLAIMS: usize = 16;
/// More than any system queues for a listener.
const MAX_BACKLOG: usize = 65_536;

/// Peer of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) listener: Listener,
    pub(crate) peer: IpAddr,
    /// SHA-256 of the client's certificate, if it has one.
    pub(crate) certificate: Option<[u8; 32]>,
    /// Whether the connection exceeds the limit and is only refused.
    pub(crate) is_in_lane: bool,
}

/// Protocols of the listeners.
pub(crate) trait Serve: Clone + Send + Sync + 'static {
    /// Serves a connection until it ends.
    fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        caller: Caller,
        progress: Arc<Progress>,
    ) -> impl Future<Output = ()> + Send;
}

/// Serves one listener until `stop` completes and every request has its response.
pub(crate) async fn listen(
    network: Arc<Network>,
    protocols: impl Serve,
    listener: Listener,
    socket: TcpListener,
    stop: impl Future<Output = ()>,
) {
    let mut acceptor = Acceptor::new(Arc::clone(&network), protocols, listener);
    let connections = Arc::clone(&acceptor.connections);
    let mut stop = pin!(stop);
    let mut sweep = pin!(end_stalled(&connections, &network));
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            () = &mut sweep => {}
            accepted = socket.accept() => match accepted {
                Ok((stream, peer)) => {
                    acceptor.admit(stream, peer);
                    acceptor.pace.step().await;
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    acceptor.log_failure(&error);
                    sleep(ACCEPT_RETRY).await;
                }
            },
        }
    }
    acceptor.admit_backlog(socket);
    connections.finish();
    // Restarted, because its interval is shorter from now on.
    sweep.set(end_stalled(&connections, &network));
    tokio::select! {
        () = &mut sweep => {}
        () = acceptor.drain() => {}
    }
}

/// Ends connections that stall, a few at a time. Never returns.
async fn end_stalled(connections: &Connections, network: &Network) {
    loop {
        let interval = connections.sweep_interval(&network.settings().connections);
        sleep(interval).await;
        let mut from = 0;
        while let Some(next) =
            connections.sweep(from, Instant::now(), &network.settings().connections, &network.counts)
        {
            from = next;
            sleep(PAUSE).await;
        }
    }
}

/// Acceptor of a listener: finds a slot for each new connection.
struct Acceptor<P> {
    network: Arc<Network>,
    protocols: P,
    listener: Listener,
    connections: Arc<Connections>,
    slots: Arc<ConnectionSlots>,
    pace: Pace,
    dropped: LogThrottle,
    turned_away: LogThrottle,
    reclaimed: LogThrottle,
    failures: LogThrottle,
}

impl<P: Serve> Acceptor<P> {
    fn new(network: Arc<Network>, protocols: P, listener: Listener) -> Self {
        Self {
            network,
            protocols,
            listener,
            connections: Arc::default(),
            slots: Arc::default(),
            pace: Pace::default(),
            dropped: LogThrottle::default(),
            turned_away: LogThrottle::default(),
            reclaimed: LogThrottle::default(),
            failures: LogThrottle::default(),
        }
    }

    /// Admits a connection, or closes it. Nothing waits for a slot.
    fn admit(&mut self, stream: TcpStream, peer: SocketAddr) {
        self.network.counts.add(Event::Accepted);
        let Some(slot) = self.seat(peer.ip()).or_else(|| self.lane(peer.ip())) else {
            self.network.counts.add(Event::Closed);
            return;
        };
        // A response is one small packet, which must not wait for the next. A failure only makes it slower.
        let _slower = stream.set_nodelay(true);
        let (network, protocols) = (Arc::clone(&self.network), self.protocols.clone());
        let connections = Arc::clone(&self.connections);
        tokio::spawn(attend(network, protocols, connections, stream, (self.listener, peer.ip()), slot));
    }

    /// A slot, if necessary that of the connection that has been idle for longest. No connection is closed for an address
    /// that has reached its own limit.
    fn seat(&mut self, peer: IpAddr) -> Option<ConnectionSlot> {
        let (settings, capacity) = (self.network.settings(), self.network.capacity(self.listener));
        for _ in 0..MAX_RECLAIMS {
            match self.slots.seat(&settings.connections, capacity, peer) {
                Ok(slot) => return Some(slot),
                Err(Shortage::Address) => return None,
                Err(Shortage::Seats) => {}
            }
            if !self.connections.reclaim_idle(&self.slots, capacity) {
                return None;
            }
            self.network.counts.add(Event::EndedForRoom);
            if let Some(times) = self.reclaimed.note() {
                tracing::warn!(times, last = %peer, "too many connections: closing the longest idle");
            }
        }
        self.slots.seat(&settings.connections, capacity, peer).ok()
    }

    /// A slot in the lane of surplus connections, if necessary that of the oldest one there.
    fn lane(&mut self, peer: IpAddr) -> Option<ConnectionSlot> {
        let counts = &self.network.counts;
        let capacity = self.network.capacity(self.listener);
        let mut slot = self.slots.lane(capacity);
        if slot.is_none() {
            counts.add(Event::Dropped);
            if let Some(times) = self.dropped.note() {
                tracing::warn!(times, last = %peer, "too many connections: closed without a response");
            }
            slot = self
                .connections
                .reclaim_lane(&self.slots, capacity)
                .then(|| self.slots.lane(capacity))
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

    fn log_failure(&mut self, error: &io::Error) {
        if let Some(times) = self.failures.note() {
            tracing::warn!(%error, times, "cannot accept connections; retrying");
        }
    }

    /// Admits the connections that the system has already accepted.
    fn admit_backlog(&mut self, socket: TcpListener) {
        // By asking the system itself: the runtime may not know of all of them yet.
        let Ok(socket) = socket.into_std() else { return };
        for _ in 0..MAX_BACKLOG {
            match socket.accept() {
                Ok((stream, peer)) => {
                    let ready = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
                    if let Ok(stream) = ready {
                        self.admit(stream, peer);
                    }
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(_) => return,
            }
        }
    }

    /// Waits until all connections have ended; stops, and then ends, those that have not in time.
    async fn drain(&self) {
        let patience = self.network.settings().shutdown_timeout;
        for (order, patience) in [(Order::Stop, patience), (Order::End, LAST_RESPONSE)] {
            if timeout(patience, self.slots.emptied()).await.is_ok() {
                return;
            }
            self.connections.order_all(order);
        }
        self.slots.emptied().await;
    }
}

/// Serves one connection from its beginning to its end.
async fn attend(
    network: Arc<Network>,
    protocols: impl Serve,
    connections: Arc<Connections>,
    stream: TcpStream,
    (listener, peer): (Listener, IpAddr),
    slot: ConnectionSlot,
) {
    let progress = Progress::new();
    let waker = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
    let member = connections.join(Arc::clone(&progress), waker, &slot);
    let is_in_lane = slot.is_in_lane();
    let caller = Caller { listener, peer, certificate: None, is_in_lane };
    {
        // Pinned, so that there is room for it once only.
        let serve = handshake_and_serve(&network, protocols, stream, caller, Arc::clone(&progress));
        let mut serve = pin!(network.turns.share(&progress, serve));
        if is_in_lane {
            let _too_slow = timeout(LANE_TIMEOUT, serve.as_mut()).await;
        } else {
            serve.as_mut().await;
        }
    }
    drop(member);
    network.counts.add(Event::Closed);
    drop(slot);
}

/// Serves a stream, or what TLS carries in it. A handshake counts as a part of the first head, and shares its timeout.
async fn handshake_and_serve(
    network: &Network,
    protocols: impl Serve,
    stream: TcpStream,
    caller: Caller,
    progress: Arc<Progress>,
) {
    let Some(tls) = network.certificates.of(caller.listener).map(Arc::clone) else {
        return protocols.serve(stream, caller, progress).await;
    };
    // Boxed, so that connections without TLS have no room for it.
    let secured = async move {
        if let Some(Ok(mut accepted)) = progress.until(Order::Cut, tls.accept(stream)).await {
            // Over gRPC only whole calls count, and whoever has begun one is told where to go on.
            if caller.listener != Listener::Grpc {
                accepted.stream.get_mut().0.tracker.report_to(Arc::clone(&progress));
            }
            let caller = Caller { certificate: accepted.certificate, ..caller };
            protocols.serve(accepted.stream, caller, progress).await;
        }
    };
    Box::pin(secured).await;
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use slidegate::policy::{Policy, Settings};

    use super::*;
    use crate::config::live_settings::LiveSettings;
    use crate::net::tls::Certificates;

    #[derive(Clone)]
    struct NoProtocol;

    impl Serve for NoProtocol {
        async fn serve(
            self,
            _: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
            _: Caller,
            _: Arc<Progress>,
        ) {
        }
    }

    fn settings(max: usize) -> LiveSettings {
        let text = format!("version: 1\nserver: {{ connections: {{ max: {max} }} }}\nrules: []\n");
        let (_, settings): (Policy, Settings) =
            Policy::parse("test.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"));
        LiveSettings::new(&settings).expect("settings")
    }

    /// After a reload to fewer connections a newcomer does not pay for those that are too many.
    #[tokio::test(start_paused = true)]
    async fn a_smaller_maximum_makes_room_for_whoever_comes() {
        for (before, after) in [(6, 6), (12, 6), (100, 6)] {
            let network = Arc::new(Network::new(settings(before), Certificates::default()));
            let mut acceptor = Acceptor::new(Arc::clone(&network), NoProtocol, Listener::Http);
            let peer = IpAddr::from([203, 0, 113, 7]);
            let mut members = Vec::new();
            for _ in 0..before {
                let slot = acceptor.seat(peer).expect("a slot");
                let joined = acceptor.connections.join(Progress::new(), Waker::noop().clone(), &slot);
                members.push((joined, slot));
            }
            tokio::time::advance(Duration::from_secs(2)).await;
            network.set_settings(settings(after));
            let turns = (1..).find(|_| acceptor.seat(peer).is_some()).expect("a slot");
            assert!(
                turns <= 1 + (before - after) / MAX_RECLAIMS,
                "{turns} came for one slot: {before} to {after}"
            );
            let ended = network.stats().ended_for_room;
            assert_eq!(ended as usize, 1 + before - after, "{before} to {after}");
        }
    }
}
