//! Service of one connection, from its handshake to its end.

use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::connection_admission::SURPLUS_TIMEOUT;
use super::connections::{ConnectionSlot, Event, OpenConnections, Order, Progress};
use super::network::Network;
use crate::config::listener::Listener;

/// Peer of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) listener: Listener,
    pub(crate) peer: IpAddr,
    /// SHA-256 of the client's certificate, if it has one.
    pub(crate) certificate: Option<[u8; 32]>,
    /// Whether the connection exceeds the limit and is only refused.
    pub(crate) is_surplus: bool,
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

/// Serves one connection from its beginning to its end.
pub(super) async fn serve_connection(
    network: Arc<Network>,
    protocols: impl Serve,
    connections: Arc<OpenConnections>,
    stream: TcpStream,
    caller: Caller,
    slot: ConnectionSlot,
) {
    let progress = Progress::new();
    let waker = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
    let member = connections.join(Arc::clone(&progress), waker, &slot);
    {
        // Pinned, so that there is space for it once only.
        let serve = handshake_and_serve(&network, protocols, stream, caller, Arc::clone(&progress));
        let mut serve = pin!(network.turns.share(&progress, serve));
        if caller.is_surplus {
            let _too_slow = timeout(SURPLUS_TIMEOUT, serve.as_mut()).await;
        } else {
            serve.as_mut().await;
        }
    }
    drop(member);
    network.counts.add(Event::Closed);
    drop(slot);
}

/// Serves a stream, or the one that TLS carries in it. A handshake is a part of the first head, and
/// shares its timeout.
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
    // Boxed, so that connections without TLS have no space for it.
    let secured = async move {
        if let Some(Ok(mut accepted)) = progress.until(Order::Cut, tls.accept(stream)).await {
            // Over gRPC only whole calls count, and GOAWAY names the last call that is answered.
            if caller.listener != Listener::Grpc {
                accepted.stream.get_mut().0.tracker.report_to(Arc::clone(&progress));
            }
            let caller = Caller { certificate: accepted.certificate, ..caller };
            protocols.serve(accepted.stream, caller, progress).await;
        }
    };
    Box::pin(secured).await;
}
