//! Takes connections until it is told to stop, and then waits for what is being answered.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use slidegate::Clock;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::connections::{Connections, Event, Order, Pace, Place, Places, Progress, Shortage};
use crate::config::listener::Door;
use crate::protocols::grpc;
use crate::protocols::http;
use crate::protocols::resp;
use crate::runtime::app::App;
use crate::telemetry::log_throttle::Seldom;

/// How long nothing is accepted after the system said that it cannot.
const BREATH: Duration = Duration::from_millis(50);
/// How long a connection that is one too many has to ask and to be told.
const LANE: Duration = Duration::from_secs(2);
/// How long a client has to take what it is told when the time to stop is over.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// The most idle connections that are closed for one newcomer. One is enough, unless fewer are allowed since a reload.
const MAX_RECLAIMS: usize = 16;
/// More than any system keeps for a listener.
const MAX_BACKLOG: usize = 65_536;

/// Who came, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) door: Door,
    pub(crate) peer: IpAddr,
    /// SHA-256 of the certificate that the client showed.
    pub(crate) certificate: Option<[u8; 32]>,
    /// Whether it is one too many, and only told so.
    pub(crate) is_in_lane: bool,
}

/// Serves one listener until `stop` completes and everybody who asked was answered.
pub(crate) async fn listen<C: Clock + 'static>(
    app: Arc<App<C>>,
    door: Door,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) {
    let mut reception = Reception::new(app, door);
    let (app, connections) = (Arc::clone(&reception.app), Arc::clone(&reception.connections));
    let mut stop = pin!(stop);
    let mut moving = pin!(connections.keep_moving(&app));
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            () = &mut moving => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    reception.welcome(stream, peer);
                    reception.pace.step().await;
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    reception.failed(&error);
                    sleep(BREATH).await;
                }
            },
        }
    }
    reception.take_all(listener);
    connections.finish();
    // Anew, since it looks more often from now on.
    moving.set(connections.keep_moving(&app));
    tokio::select! {
        () = &mut moving => {}
        () = reception.see_off() => {}
    }
}

/// Who takes connections at a door.
struct Reception<C> {
    app: Arc<App<C>>,
    door: Door,
    connections: Arc<Connections>,
    places: Arc<Places>,
    pace: Pace,
    dropped: Seldom,
    turned_away: Seldom,
    reclaimed: Seldom,
    failures: Seldom,
}

impl<C: Clock + 'static> Reception<C> {
    fn new(app: Arc<App<C>>, door: Door) -> Self {
        Self {
            app,
            door,
            connections: Arc::default(),
            places: Arc::default(),
            pace: Pace::default(),
            dropped: Seldom::default(),
            turned_away: Seldom::default(),
            reclaimed: Seldom::default(),
            failures: Seldom::default(),
        }
    }

    /// Finds a place for a connection; there is no waiting for one.
    fn welcome(&mut self, stream: TcpStream, peer: SocketAddr) {
        self.app.connections().add(Event::Accepted);
        let Some(place) = self.seat(peer.ip()).or_else(|| self.lane(peer.ip())) else {
            self.app.connections().add(Event::Closed);
            return;
        };
        // An answer is one small packet, which is not to wait for the next. Where this fails, it only does.
        let _slower = stream.set_nodelay(true);
        let (app, connections) = (Arc::clone(&self.app), Arc::clone(&self.connections));
        tokio::spawn(attend(app, connections, stream, self.door, peer.ip(), place));
    }

    /// A seat, if need be that of the connection that has been idle for longest. No other connection makes room for an address that
    /// has all that it may have.
    fn seat(&mut self, peer: IpAddr) -> Option<Place> {
        let (http, capacity) = (self.app.http(), self.app.capacity(self.door));
        for _ in 0..MAX_RECLAIMS {
            match self.places.seat(&http.connections, capacity, peer) {
                Ok(place) => return Some(place),
                Err(Shortage::Address) => return None,
                Err(Shortage::Seats) => {}
            }
            if !self.connections.reclaim_idle(&self.places, capacity) {
                return None;
            }
            self.app.connections().add(Event::EndedForRoom);
            if let Some(times) = self.reclaimed.note() {
                tracing::warn!(times, last = %peer, "too many connections: the longest idle are closed");
            }
        }
        self.places.seat(&http.connections, capacity, peer).ok()
    }

    /// A place in the lane, if need be that of the connection that has been there for longest.
    fn lane(&mut self, peer: IpAddr) -> Option<Place> {
        let counts = self.app.connections();
        let capacity = self.app.capacity(self.door);
        let mut place = self.places.lane(capacity);
        if place.is_none() {
            counts.add(Event::Dropped);
            if let Some(times) = self.dropped.note() {
                tracing::warn!(times, last = %peer, "too many connections: closed without an answer");
            }
            place = self
                .connections
                .reclaim_lane(&self.places, capacity)
                .then(|| self.places.lane(capacity))
                .flatten();
        }
        if place.is_some() {
            counts.add(Event::TurnedAway);
            if let Some(times) = self.turned_away.note() {
                tracing::warn!(times, last = %peer, "too many connections: told to come again");
            }
        }
        place
    }

    fn failed(&mut self, error: &io::Error) {
        if let Some(times) = self.failures.note() {
            tracing::warn!(%error, times, "no connection can be accepted; trying again");
        }
    }

    /// Takes those whom the system has already let in, and nobody after them.
    fn take_all(&mut self, listener: TcpListener) {
        // By asking the system itself: the runtime may not have heard of all of them yet.
        let Ok(listener) = listener.into_std() else { return };
        for _ in 0..MAX_BACKLOG {
            match listener.accept() {
                Ok((stream, peer)) => {
                    let ready = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
                    if let Ok(stream) = ready {
                        self.welcome(stream, peer);
                    }
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(_) => return,
            }
        }
    }

    /// Waits until everybody has left; those who do not are told, and then ended.
    async fn see_off(&self) {
        let patience = self.app.http().shutdown_timeout;
        for (order, patience) in [(Order::Stop, patience), (Order::End, LAST_WORDS)] {
            if timeout(patience, self.places.emptied()).await.is_ok() {
                return;
            }
            self.connections.tell_all(order);
        }
        self.places.emptied().await;
    }
}

/// One connection, from its beginning to its end.
async fn attend<C: Clock + 'static>(
    app: Arc<App<C>>,
    connections: Arc<Connections>,
    stream: TcpStream,
    door: Door,
    peer: IpAddr,
    place: Place,
) {
    let progress = Progress::new();
    let waker = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
    let member = connections.join(Arc::clone(&progress), waker, &place);
    let is_in_lane = place.is_in_lane();
    let caller = Caller { door, peer, certificate: None, is_in_lane };
    {
        // Pinned, so that there is room for it once only.
        let serve = shake_hands_and_serve(Arc::clone(&app), stream, caller, Arc::clone(&progress));
        let mut serve = pin!(app.turns().share(&progress, serve));
        if is_in_lane {
            let _too_slow = timeout(LANE, serve.as_mut()).await;
        } else {
            serve.as_mut().await;
        }
    }
    drop(member);
    app.connections().add(Event::Closed);
    drop(place);
}

/// Answers what comes over a stream, or over TLS in it. A handshake counts as a part of the first head, and is cut with it.
async fn shake_hands_and_serve<C: Clock + 'static>(
    app: Arc<App<C>>,
    stream: TcpStream,
    caller: Caller,
    progress: Arc<Progress>,
) {
    let Some(tls) = app.certificates.of(caller.door).map(Arc::clone) else {
        return speak(app, stream, caller, progress).await;
    };
    // In a box, so that connections without TLS have no room for it.
    let secured = async move {
        if let Some(Ok(mut accepted)) = progress.until(Order::Cut, tls.accept(stream)).await {
            // Over gRPC only whole calls count, and whoever has begun one is told where to go on.
            if caller.door != Door::Grpc {
                accepted.stream.get_mut().0.note_to(Arc::clone(&progress));
            }
            let caller = Caller { certificate: accepted.certificate, ..caller };
            speak(app, accepted.stream, caller, progress).await;
        }
    };
    Box::pin(secured).await;
}

/// Answers in the protocol of the door, until the connection ends.
async fn speak<C: Clock + 'static>(
    app: Arc<App<C>>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    caller: Caller,
    progress: Arc<Progress>,
) {
    match caller.door {
        Door::Check | Door::Admin => http::connection::serve(app, stream, caller, progress).await,
        // In boxes, so that connections of HTTP have no room for them.
        Door::Grpc => Box::pin(grpc::connection::serve(app, stream, caller, progress)).await,
        Door::Resp => Box::pin(resp::connection::serve(app, stream, caller, progress)).await,
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use slidegate::policy::{Policy, Settings};
    use slidegate::{ManualClock, Memory};

    use super::*;
    use crate::config::{Config, HttpSettings};
    use crate::runtime::backend::Backend;

    fn policy(max: usize) -> (Policy, Settings) {
        let text = format!("version: 1\nserver: {{ connections: {{ max: {max} }} }}\nrules: []\n");
        Policy::parse("test.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn app(max: usize) -> Arc<App<ManualClock>> {
        let store = Backend::Memory(Memory::default());
        let app = App::over(Config::from(policy(max)), store).expect("settings");
        Arc::new(app.clock(ManualClock::new(1_745_000_103_000)))
    }

    /// After a reload to fewer connections a newcomer does not pay for those that are too many.
    #[tokio::test(start_paused = true)]
    async fn a_smaller_maximum_makes_room_for_whoever_comes() {
        for (before, after) in [(6, 6), (12, 6), (100, 6)] {
            let mut reception = Reception::new(app(before), Door::Check);
            let peer = IpAddr::from([203, 0, 113, 7]);
            let mut members = Vec::new();
            for _ in 0..before {
                let place = reception.seat(peer).expect("a seat");
                let joined = reception.connections.join(Progress::new(), Waker::noop().clone(), &place);
                members.push((joined, place));
            }
            tokio::time::advance(Duration::from_secs(2)).await;
            reception.app.set_http(HttpSettings::new(&policy(after).1).expect("settings"));
            let turns = (1..).find(|_| reception.seat(peer).is_some()).expect("a seat");
            assert!(
                turns <= 1 + (before - after) / MAX_RECLAIMS,
                "{turns} came for one seat: {before} to {after}"
            );
            let ended = reception.app.connections().stats().ended_for_room;
            assert_eq!(ended as usize, 1 + before - after, "{before} to {after}");
        }
    }
}
