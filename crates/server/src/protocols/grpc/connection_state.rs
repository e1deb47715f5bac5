//! What the calls of one connection have in common.

use std::net::IpAddr;
use std::sync::Arc;

use slidegate::Clock;
use tokio::sync::watch;

use super::routes::Route;
use crate::config::connection_limits::ConnectionLimits;
use crate::net::accept::Caller;
use crate::net::byte_budget::{ByteBudget, Part};
use crate::net::connections::Order;
use crate::runtime::decider::Decider;

/// The longest message of a call that needs no token: a name, or a question about one.
const MAX_OPEN_MESSAGE_BYTES: usize = 4 << 10;

/// What the messages of a call may take.
pub(super) struct Room<'v> {
    /// The longest message.
    pub(super) max_bytes: usize,
    /// Where what has come of it is counted until all has.
    unfinished: &'v ByteBudget,
    /// Where it counts for all connections, too.
    shared: Option<&'v ByteBudget>,
}

impl<'v> Room<'v> {
    /// A call's part of it, which is nothing yet.
    pub(super) fn part(&self) -> Part<'v> {
        self.unfinished.part(self.shared)
    }
}

/// What the calls of one connection have in common.
pub(super) struct ConnectionState<C> {
    pub(super) decider: Arc<Decider<C>>,
    /// As they were when the connection began.
    pub(super) bounds: ConnectionLimits,
    /// Address at the other end of the connection.
    pub(super) peer: IpAddr,
    /// Whether the connection is one too many, and only told so.
    pub(super) is_in_lane: bool,
    /// What has come of calls that are not complete: of those that need a token, and of those that need none.
    guarded: ByteBudget,
    open: ByteBudget,
    /// What the connection was told; calls that wait for something look at it.
    told: watch::Sender<Order>,
}

impl<C: Clock> ConnectionState<C> {
    pub(super) fn new(decider: Arc<Decider<C>>, bounds: ConnectionLimits, caller: &Caller) -> Self {
        let (guarded, open) = (ByteBudget::of_one(), ByteBudget::of_open_calls());
        let Caller { peer, is_in_lane, .. } = *caller;
        Self { decider, bounds, peer, is_in_lane, guarded, open, told: watch::Sender::new(Order::Go) }
    }

    /// What the messages of a call may take.
    pub(super) fn room(&self, route: Route) -> Room<'_> {
        let max_bytes = self.bounds.max_body_bytes;
        match route.is_guarded() {
            true => Room {
                max_bytes,
                unfinished: &self.guarded,
                shared: Some(&self.decider.network().incomplete_calls),
            },
            false => Room {
                max_bytes: max_bytes.min(MAX_OPEN_MESSAGE_BYTES),
                unfinished: &self.open,
                shared: None,
            },
        }
    }

    /// Tells every call that waits. What goes further was told already, and is not taken back.
    pub(super) fn tell(&self, order: Order) {
        self.told.send_if_modified(|told| {
            let goes_further = order > *told;
            *told = order.max(*told);
            goes_further
        });
    }

    /// Completes when the connection was told to do this, or more.
    pub(super) async fn is_told(&self, order: Order) {
        let mut told = self.told.subscribe();
        // It only fails when the connection is over, and the connection is here.
        let _is_so = told.wait_for(|told| *told >= order).await;
    }
}
