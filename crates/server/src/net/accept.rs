//! Accept loop of a listener: admits connections until shutdown, and then waits for those in
//! progress.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};

use super::connection_admission::ConnectionAdmission;
use super::connections::{Event, OpenConnections, Order, PAUSE, Pace};
use super::network::Network;
use super::serve::{Caller, Serve, serve_connection};
use crate::config::listener::Listener;
use crate::telemetry::log_throttle::LogThrottle;

/// Pause after the system failed to accept a connection.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// Time that a client has to read its last response after the shutdown timeout.
const LAST_RESPONSE: Duration = Duration::from_secs(1);
/// More than any system queues for a listener.
const MAX_BACKLOG: usize = 65_536;

/// Serves one listener until `stop` completes and every request has its response.
pub(crate) async fn listen(
    network: Arc<Network>,
    protocols: impl Serve,
    listener: Listener,
    socket: TcpListener,
    stop: impl Future<Output = ()>,
) {
    let admission = ConnectionAdmission::new(Arc::clone(&network), listener);
    let connections = Arc::clone(&admission.connections);
    let mut acceptor = Acceptor { admission, protocols };
    let (mut pace, mut failures) = (Pace::default(), LogThrottle::default());
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
                    pace.step().await;
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    if let Some(times) = failures.note() {
                        tracing::warn!(%error, times, "cannot accept connections; retrying");
                    }
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
async fn end_stalled(connections: &OpenConnections, network: &Network) {
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

/// Acceptor of a listener: a task for each connection that is admitted.
struct Acceptor<P> {
    admission: ConnectionAdmission,
    protocols: P,
}

impl<P: Serve> Acceptor<P> {
    /// Admits a connection, or closes it. Nothing waits for a slot.
    fn admit(&mut self, stream: TcpStream, peer: SocketAddr) {
        let network = Arc::clone(&self.admission.network);
        network.counts.add(Event::Accepted);
        let Some(slot) = self.admission.slot(peer.ip()) else {
            return network.counts.add(Event::Closed);
        };
        // A response is one small packet, which must not wait for the next. A failure only makes it
        // slower.
        let _slower = stream.set_nodelay(true);
        let (protocols, connections) = (self.protocols.clone(), Arc::clone(&self.admission.connections));
        let caller = Caller {
            listener: self.admission.listener,
            peer: peer.ip(),
            certificate: None,
            is_surplus: slot.is_surplus(),
        };
        tokio::spawn(serve_connection(network, protocols, connections, stream, caller, slot));
    }

    /// Admits the connections that the system has already accepted.
    fn admit_backlog(&mut self, socket: TcpListener) {
        // Accepted from the system itself: the runtime may not have all of them yet.
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
        let ConnectionAdmission { network, slots, connections, .. } = &self.admission;
        let shutdown_timeout = network.settings().shutdown_timeout;
        for (order, time) in [(Order::Stop, shutdown_timeout), (Order::End, LAST_RESPONSE)] {
            if timeout(time, slots.emptied()).await.is_ok() {
                return;
            }
            connections.order_all(order);
        }
        slots.emptied().await;
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
