//! Tests of the order in which connections are closed for new ones.

use std::sync::Arc;
use std::task::Waker;

use super::*;
use crate::config::connection_limits::tests::usual;
use crate::net::connections::{
    Capacity, ConnectionLimits, ConnectionSlot, ConnectionSlots, Membership, OpenConnections, Progress,
};

const SECOND: Duration = Duration::from_secs(1);

/// A listener with one address, and its connections.
struct TestListener {
    connections: Arc<OpenConnections>,
    slots: Arc<ConnectionSlots>,
    bounds: ConnectionLimits,
}

struct TestConnection {
    progress: Arc<Progress>,
    // In this order: a connection leaves before its slot is free.
    _membership: Membership,
    _slot: ConnectionSlot,
}

impl TestListener {
    fn new(max: usize) -> Self {
        let bounds = ConnectionLimits { max, ..usual() };
        Self { connections: Arc::default(), slots: Arc::default(), bounds }
    }

    fn capacity(&self) -> Capacity {
        Capacity::configured(&self.bounds)
    }

    fn reclaim_idle(&self) -> bool {
        self.connections.reclaim_idle(&self.slots, self.capacity())
    }

    fn reclaim_surplus(&self) -> bool {
        self.connections.reclaim_surplus(&self.slots, self.capacity())
    }

    fn member(&self, slot: ConnectionSlot) -> TestConnection {
        let progress = Progress::new();
        let membership = self.connections.join(Arc::clone(&progress), Waker::noop().clone(), &slot);
        TestConnection { progress, _membership: membership, _slot: slot }
    }

    fn regular(&self) -> Option<TestConnection> {
        let slot = self.slots.regular(&self.bounds, self.capacity(), [203, 0, 113, 7].into()).ok()?;
        Some(self.member(slot))
    }

    fn surplus(&self) -> Option<TestConnection> {
        Some(self.member(self.slots.surplus(self.capacity())?))
    }

    fn orders(members: &[TestConnection]) -> Vec<Order> {
        members.iter().map(|member| member.progress.order()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn the_longest_idle_goes_first_and_its_slot_is_free_at_once() {
    let listener = TestListener::new(3);
    let mut members = Vec::new();
    for phase in [Phase::Answering, Phase::Idle, Phase::Fresh] {
        let member = listener.regular().expect("a slot");
        if phase != Phase::Fresh {
            member.progress.enter(phase);
        }
        members.push(member);
        tokio::time::advance(SECOND).await;
        listener.connections.sweep_now(&listener.bounds);
    }
    assert!(listener.regular().is_none());
    assert!(listener.reclaim_idle(), "the second has been idle for longest");
    assert_eq!(TestListener::orders(&members), [Order::Go, Order::Cut, Order::Go]);
    members.push(listener.regular().expect("the slot of the second"));
    assert!(listener.regular().is_none(), "there is one for one");
    assert!(listener.reclaim_idle());
    assert_eq!(TestListener::orders(&members), [Order::Go, Order::Cut, Order::Cut, Order::Go]);
    assert!(!listener.reclaim_idle(), "one is busy, and one has just come");
}

#[tokio::test(start_paused = true)]
async fn who_has_moved_since_it_was_found_stays() {
    let listener = TestListener::new(2);
    let members = [listener.regular().expect("a slot"), listener.regular().expect("a slot")];
    tokio::time::advance(2 * SECOND).await;
    assert!(listener.reclaim_idle());
    let idle = members.iter().find(|member| member.progress.order() == Order::Go).expect("one stays");
    idle.progress.begin_head();
    assert!(!listener.reclaim_idle(), "a request has begun");
    idle.progress.rest();
    assert!(!listener.reclaim_idle(), "it was answered just now");
}

/// Scans find a bounded number, in order, however many there are.
#[tokio::test(start_paused = true)]
async fn a_crowd_goes_in_its_order() {
    let count = 2 * BATCH + 10;
    let listener = TestListener::new(count);
    let mut members = Vec::new();
    for _ in 0..count {
        members.push(listener.regular().expect("a slot"));
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    tokio::time::advance(2 * SECOND).await;
    for ended in 1..=count {
        assert!(listener.reclaim_idle(), "{ended}");
        let expected: Vec<_> = (0..count).map(|n| if n < ended { Order::Cut } else { Order::Go }).collect();
        assert_eq!(TestListener::orders(&members), expected);
        // Those with an order leave.
        members[ended - 1]._slot = listener
            .slots
            .regular(&listener.bounds, listener.capacity(), [0, 0, 0, 0].into())
            .expect("a slot");
        tokio::time::advance(SCAN_PAUSE).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_oldest_surplus_connection_goes_first() {
    let listener = TestListener::new(1);
    let mut members = Vec::new();
    while let Some(member) = listener.surplus() {
        members.push(member);
    }
    assert!(!listener.reclaim_idle(), "surplus connections have an order of their own");
    drop(members.remove(0));
    members.push(listener.surplus().expect("one has left"));
    for ended in 1..=3 {
        assert!(listener.surplus().is_none() && listener.reclaim_surplus());
        members.push(listener.surplus().expect("a slot"));
        let expected = (0..members.len()).map(|n| if n < ended { Order::End } else { Order::Go });
        assert_eq!(TestListener::orders(&members), expected.collect::<Vec<_>>());
    }
}

/// Connections with an order to end that do not end are bounded, too.
#[tokio::test(start_paused = true)]
async fn those_that_leave_are_bounded() {
    let listener = TestListener::new(1);
    let mut members: Vec<TestConnection> = std::iter::from_fn(|| listener.surplus()).collect();
    let most = members.len();
    for _ in 0..most {
        assert!(listener.reclaim_surplus());
        members.push(listener.surplus().expect("a slot"));
    }
    assert!(!listener.reclaim_surplus() && listener.surplus().is_none());
    members.remove(0);
    assert!(listener.reclaim_surplus());
}
