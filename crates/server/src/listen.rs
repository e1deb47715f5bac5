//! Takes connections until it is told to stop, and then waits for what is being answered.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use slidegate::Clock;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, interval_at, sleep, timeout};

use crate::app::App;
use crate::connections::{Connections, SWEEP};
use crate::http::connection;

/// The most connections that are open at a time. More wait in the system's queue.
const MAX_CONNECTIONS: u32 = 16_384;
/// How long answers that are being given may still take once it is time to stop.
const DRAIN: Duration = Duration::from_secs(10);
/// How long nothing is accepted after the system said that it cannot.
const BREATH: Duration = Duration::from_millis(50);

/// Serves HTTP on a listener until `shutdown` completes.
pub(crate) async fn listen<C: Clock + 'static>(
    app: Arc<App<C>>,
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS as usize));
    let connections = Arc::new(Connections::default());
    let mut shutdown = pin!(shutdown);
    let mut sweep = interval_at(Instant::now() + SWEEP, SWEEP);
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            _ = sweep.tick() => connections.sweep(),
            (stream, peer, place) = accept(&listener, &room) => {
                let visit = connection::serve(Arc::clone(&app), stream, peer.ip(), Arc::clone(&connections));
                tokio::spawn(async move {
                    visit.await;
                    drop(place);
                });
            }
        }
    }
    drop(listener);
    connections.finish();
    if timeout(DRAIN, room.acquire_many(MAX_CONNECTIONS)).await.is_err() {
        connections.end();
        let _all = room.acquire_many(MAX_CONNECTIONS).await;
    }
}

/// The next connection. Errors do not end it: they are of one connection, or pass.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
    let place = Arc::clone(room).acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // An answer is one small packet, which is not to wait for the next. Where this fails, it only does.
                let _slower = stream.set_nodelay(true);
                return (stream, peer, place);
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "no connection can be accepted; trying again");
                sleep(BREATH).await;
            }
        }
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
