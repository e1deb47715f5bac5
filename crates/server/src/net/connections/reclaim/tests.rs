//! Tests of who makes room for whom.

use std::sync::Arc;
use std::task::Waker;

use super::*;
use crate::config::connection_limits::tests::usual;
use crate::net::connections::{
    Capacity, ConnectionLimits, ConnectionSlot, ConnectionSlots, Connections, Membership, Progress,
};

const SECOND: Duration = Duration::from_secs(1);

/// A listener with one address, and its connections.
struct TestListener {
    connections: Arc<Connections>,
    places: Arc<ConnectionSlots>,
    bounds: ConnectionLimits,
}

struct Member {
    progress: Arc<Progress>,
    // In this order: a connection leaves before its place is free.
    _membership: Membership,
    _place: ConnectionSlot,
}

impl TestListener {
    fn new(max: usize) -> Self {
        let bounds = ConnectionLimits { max, ..usual() };
        Self { connections: Arc::default(), places: Arc::default(), bounds }
    }

    fn capacity(&self) -> Capacity {
        Capacity::configured(&self.bounds)
    }

    fn reclaim_idle(&self) -> bool {
        self.connections.reclaim_idle(&self.places, self.capacity())
    }

    fn reclaim_lane(&self) -> bool {
        self.connections.reclaim_lane(&self.places, self.capacity())
    }

    fn member(&self, place: ConnectionSlot) -> Member {
        let progress = Progress::new();
        let membership = self.connections.join(Arc::clone(&progress), Waker::noop().clone(), &place);
        Member { progress, _membership: membership, _place: place }
    }

    fn seat(&self) -> Option<Member> {
        let place = self.places.seat(&self.bounds, self.capacity(), [203, 0, 113, 7].into()).ok()?;
        Some(self.member(place))
    }

    fn lane(&self) -> Option<Member> {
        Some(self.member(self.places.lane(self.capacity())?))
    }

    fn orders(members: &[Member]) -> Vec<Order> {
        members.iter().map(|member| member.progress.order()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn the_longest_idle_goes_first_and_its_place_is_free_at_once() {
    let listener = TestListener::new(3);
    let mut members = Vec::new();
    for phase in [Phase::Answering, Phase::Idle, Phase::Fresh] {
        let member = listener.seat().expect("a seat");
        if phase != Phase::Fresh {
            member.progress.enter(phase);
        }
        members.push(member);
        tokio::time::advance(SECOND).await;
        listener.connections.sweep_now(&listener.bounds);
    }
    assert!(listener.seat().is_none());
    assert!(listener.reclaim_idle(), "the second has been idle for longest");
    assert_eq!(TestListener::orders(&members), [Order::Go, Order::Cut, Order::Go]);
    members.push(listener.seat().expect("the place of the second"));
    assert!(listener.seat().is_none(), "there is one for one");
    assert!(listener.reclaim_idle());
    assert_eq!(TestListener::orders(&members), [Order::Go, Order::Cut, Order::Cut, Order::Go]);
    assert!(!listener.reclaim_idle(), "one is busy, and one has just come");
}

#[tokio::test(start_paused = true)]
async fn who_has_moved_since_it_was_found_stays() {
    let listener = TestListener::new(2);
    let members = [listener.seat().expect("a seat"), listener.seat().expect("a seat")];
    tokio::time::advance(2 * SECOND).await;
    assert!(listener.reclaim_idle());
    let kept = members.iter().find(|member| member.progress.order() == Order::Go).expect("one stays");
    kept.progress.begin_head();
    assert!(!listener.reclaim_idle(), "a request has begun");
    kept.progress.rest();
    assert!(!listener.reclaim_idle(), "it was answered just now");
}

/// Scans find a bounded number, in order, however many there are.
#[tokio::test(start_paused = true)]
async fn a_crowd_goes_in_its_order() {
    let count = 2 * BATCH + 10;
    let listener = TestListener::new(count);
    let mut members = Vec::new();
    for _ in 0..count {
        members.push(listener.seat().expect("a seat"));
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    tokio::time::advance(2 * SECOND).await;
    for told in 1..=count {
        assert!(listener.reclaim_idle(), "{told}");
        let expected: Vec<_> = (0..count).map(|n| if n < told { Order::Cut } else { Order::Go }).collect();
        assert_eq!(TestListener::orders(&members), expected);
        // Those that were told leave.
        members[told - 1]._place =
            listener.places.seat(&listener.bounds, listener.capacity(), [0, 0, 0, 0].into()).expect("a seat");
        tokio::time::advance(SCAN_PAUSE).await;
    }
}

#[tokio::test(start_paused = true)]
async fn in_the_lane_whoever_came_first_goes_first() {
    let listener = TestListener::new(1);
    let mut members = Vec::new();
    while let Some(member) = listener.lane() {
        members.push(member);
    }
    assert!(!listener.reclaim_idle(), "the lane has an order of its own");
    drop(members.remove(0));
    members.push(listener.lane().expect("one has left"));
    for told in 1..=3 {
        assert!(listener.lane().is_none() && listener.reclaim_lane());
        members.push(listener.lane().expect("room for one"));
        let expected = (0..members.len()).map(|n| if n < told { Order::End } else { Order::Go });
        assert_eq!(TestListener::orders(&members), expected.collect::<Vec<_>>());
    }
}

/// Connections that were told to end and do not are bounded, too.
#[tokio::test(start_paused = true)]
async fn those_that_leave_are_bounded() {
    let listener = TestListener::new(1);
    let mut members: Vec<Member> = std::iter::from_fn(|| listener.lane()).collect();
    let most = members.len();
    for _ in 0..most {
        assert!(listener.reclaim_lane());
        members.push(listener.lane().expect("room"));
    }
    assert!(!listener.reclaim_lane() && listener.lane().is_none());
    members.remove(0);
    assert!(listener.reclaim_lane());
}
